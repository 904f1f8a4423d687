/* What all pages look like: light and dark, from 360 px, on A4. No scripts, nothing from elsewhere. */
#include "report/report_internal.h"

/* In two, as compilers need not take longer strings. */
static const char style[] =
    ":root{color-scheme:light "
    "dark;--ink:#1b1f24;--soft:#4a535e;--paper:#fff;--line:#d8dde3;--faint:#e6e9ed;--good:#1a7f4b;--good-"
    "paper:#eef8f2;--bad:#b3161b;--bad-paper:#fdeeee;--note:#c98a00;--note-paper:#fff8e8;--data:#0072b2;--"
    "bars:#aebccb}\n"
    "@media "
    "(prefers-color-scheme:dark){:root{--ink:#e6e9ed;--soft:#a8b1bb;--paper:#15181c;--line:#3a424c;--faint:#"
    "2a3038;--good:#4cc38a;--good-paper:#12261c;--bad:#ff8d8d;--bad-paper:#331a1b;--note:#e0ac40;--note-"
    "paper:#2b2413;--data:#63b3ed;--bars:#4a5665}}\n"
    "body{font:16px/1.55 system-ui,-apple-system,'Segoe UI',Roboto,'Helvetica "
    "Neue',Arial,sans-serif;color:var(--ink);background:var(--paper);max-width:60rem;margin:2.5rem "
    "auto;padding:0 1.25rem}\n"
    "h1{font-size:1.7rem;line-height:1.25;margin:0 0 .6rem;overflow-wrap:anywhere}\n"
    "h2{font-size:1.15rem;margin:2.4rem 0 .6rem;padding-top:.9rem;border-top:1px solid var(--line)}\n"
    "h3{font-size:1rem;margin:1.3rem 0 .3rem}\n"
    "p{margin:.4rem 0;max-width:48rem}ul{margin:.3rem 0;padding-left:1.3rem;max-width:46rem}\n"
    "dl{display:grid;grid-template-columns:max-content 1fr;gap:.15rem 1rem;margin:.4rem "
    "0}dt{color:var(--soft)}dd{margin:0;overflow-wrap:anywhere}\n"
    ".banner{border-left:6px solid var(--good);background:var(--good-paper);padding:.8rem "
    "1.1rem;margin:1.2rem 0}\n"
    ".banner.exposed{border-color:var(--bad);background:var(--bad-paper)}\n"
    ".banner p{max-width:none}.exposed strong{color:var(--bad)}.answer{font-size:1.15rem}\n"
    ".scroll{overflow-x:auto}table{border-collapse:collapse;font-size:.9rem;font-variant-numeric:tabular-"
    "nums}\n"
    "#summary table{width:100%;font-size:.82rem}#summary th,#summary td{padding:.32rem .34rem}#summary "
    "th{white-space:normal;vertical-align:bottom}#summary td:first-child,#summary "
    "th:first-child{padding-left:0}\n"
    "th,td{padding:.32rem .7rem;text-align:right;white-space:nowrap}th{border-bottom:2px solid "
    "var(--soft);font-weight:600}\n"
    "td{border-bottom:1px solid var(--faint)}th:first-child,td:first-child{text-align:left;padding-left:0}\n"
    "td:first-child{white-space:normal;overflow-wrap:anywhere;min-width:6rem}\n"
    ".settings th,.settings td{text-align:left}.settings td:last-child{color:var(--soft)}\n"
    ".settings td{white-space:normal;overflow-wrap:anywhere}\n"
    ".worry{background:var(--note-paper);font-weight:600}\n"
    ".note{background:var(--note-paper);border-left:6px solid var(--note);padding:.6rem 1.1rem}\n"
    "svg{display:block;width:100%;height:auto;font:12px system-ui,-apple-system,'Segoe "
    "UI',Roboto,Arial,sans-serif}\n"
    "svg "
    "text{fill:var(--ink)}.grid{stroke:var(--faint);fill:none}.zero{stroke:var(--soft);stroke-dasharray:4 "
    "3}\n"
    ".intervals{display:grid;grid-auto-flow:row dense;grid-template-columns:fit-content(16rem) "
    "minmax(8rem,1fr) "
    "max-content;column-gap:1rem;align-items:center;font-size:.9rem;font-variant-numeric:tabular-nums}.name{"
    "grid-column:1;overflow-wrap:anywhere}.bar{grid-column:2;height:1.6rem}.numbers{grid-column:3;text-align:"
    "right}.ticks{grid-column:2;height:1.2rem;overflow:visible}\n"
    "@media (max-width:40rem){#summary td{white-space:normal}.intervals{grid-template-columns:1fr "
    "max-content}.name,.numbers{padding-top:.5rem}.numbers{grid-column:2}.bar,.ticks{grid-column:1/-1}}\n"
    ".interval{stroke:var(--data);stroke-width:4;stroke-linecap:round}.wide{stroke:var(--data);stroke-width:"
    "1.2}circle{fill:var(--data);stroke:var(--paper);stroke-width:1.5}\n";

static const char style_of_figures[] =
    ".panels{display:grid;grid-template-columns:repeat(auto-fit,minmax(min(19rem,100%),1fr));gap:1rem "
    "1.5rem}figure{margin:0;max-width:28rem}figcaption{font-weight:600;overflow-wrap:anywhere}.band{fill:var("
    "--data);opacity:.18}\n"
    "polyline{fill:none;stroke-width:.8;stroke-opacity:.8}.curve{stroke:var(--data);stroke-width:2.2;stroke-"
    "opacity:1}.histogram{fill:var(--bars)}\n"
    ".key span{display:inline-block;width:1.4rem;height:.2rem;vertical-align:middle;margin:0 .35rem 0 "
    ".9rem}.key span:first-child{margin-left:0}\n"
    "summary{cursor:pointer;font-weight:600;margin:.8rem 0}pre{overflow-x:auto;font-size:.85rem}\n"
    "footer{margin:3rem 0 1rem;color:var(--soft);font-size:.85rem}\n"
    "@page{size:A4;margin:18mm}@media "
    "print{:root{color-scheme:light}body{margin:0;max-width:none;font-size:10pt}svg,tr,figure{break-inside:"
    "avoid}h2,h3,h2+p,figcaption{break-after:avoid}.scroll{overflow:visible}details::details-content{content-"
    "visibility:visible;height:auto}#summary table{font-size:8pt}#summary th,#summary td{padding:.25rem "
    ".3rem}}\n";

void tacit_page_head(const char *before, const char *title, const char *of_page, tacit_text_t *text) {
  tacit_text_printf(text,
                    "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
                    "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n<title>%s",
                    before);
  tacit_text_html(text, title);
  tacit_text_printf(text, "</title>\n<style>\n%s%s%s</style>\n</head>\n<body>\n<h1>", style, style_of_figures,
                    of_page);
  tacit_text_html(text, title);
  tacit_text_printf(text, "</h1>\n");
}

void tacit_page_foot(tacit_text_t *text) {
  tacit_text_printf(text, "<footer>Written by tacit %s.</footer>\n</body>\n</html>\n", tacit_version());
}
