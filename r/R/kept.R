# What follows from what fits released: other draws, several sites, a check (charged), synthetic rows.

one_path <- function(path, field = "path") {
  if (!is.character(path) || length(path) != 1L || is.na(path) || !nzchar(path)) refuse("expected the path of a file or a directory", field = field)
  if (nchar(path, "bytes") > 4095) refuse("a path of at most 4095 bytes was expected", field = field)
  path
}

new_file <- function(out) {
  if (is.null(out)) return(NULL)
  if (file.exists(one_path(out, "out"))) refuse(sprintf("%s exists: choose another out, or remove it", out), "exists", "out")
  if (!dir.exists(dirname(out))) refuse(sprintf("cannot create %s: its directory does not exist", out), "missing", "out")
  out
}

put_file <- function(text, file) {
  tryCatch(writeLines(text, file, sep = ""), error = function(e) NULL, warning = function(w) NULL)
  if (file.exists(file)) "" else sprintf("%s was not written", file)
}

whole <- function(x, field, least, most) {
  if (!is.numeric(x) || length(x) != 1L || !isTRUE(x >= least && x <= most && x == floor(x))) {
    refuse(sprintf("%s: a whole number from %.0f to %.0f", field, least, most), field = field)
  }
  as.numeric(x)
}

redraw <- function(paths, given, out, progress, disjoint = FALSE, between = 0, shown = NULL) {
  former <- tacit_read(paths[[1L]])
  result <- check(.Call(C_refit, paths, disjoint, between, shown, setting_texts(c(given, list(out = out))), if (progress) watch))
  if (progress) cat("\r", strrep(" ", 60), "\r", sep = "", file = stderr())
  if (result$end == "interrupted") warning("interrupted: these are the draws so far", call. = FALSE)
  if (nzchar(result$unwritten)) warning("the report was not written: ", result$unwritten, "; the draws are in what is returned", call. = FALSE)
  new_fit(result$draws, former$formula, former$family, former$schema, result$statement, result$privacy, result$end, former$known_sd, result$program)
}

tacit_refit <- function(path, prior = NULL, out = NULL, seed = NULL, check = NULL, progress = interactive(), ...) {
  redraw(one_path(path), list(prior = prior, seed = seed, ...), out, progress, shown = if (!is.null(check)) one_path(check, "check"))
}

tacit_combine <- function(paths, disjoint = FALSE, exchangeable = FALSE, between_sd = NULL, prior = NULL, out = NULL, seed = NULL,
                          progress = interactive(), ...) {
  if (!is.character(paths) || length(paths) < 2L || length(paths) > 64L || anyNA(paths)) refuse("the directories of 2 to 64 fits", field = "paths")
  if (!isTRUE(exchangeable) && !isFALSE(exchangeable)) refuse("exchangeable: TRUE or FALSE", field = "exchangeable")
  between <- if (is.null(between_sd)) 0.5 else between_sd
  if (!is.numeric(between) || length(between) != 1L || !isTRUE(between >= 0.01 && between <= 100) || (!is.null(between_sd) && !exchangeable)) {
    refuse("between_sd: a number from 0.01 to 100, with exchangeable = TRUE", field = "between_sd")
  }
  redraw(paths, list(prior = prior, seed = seed, ...), out, progress, isTRUE(disjoint), if (exchangeable) as.numeric(between) else 0)
}

tacit_check <- function(path, data, epsilon, delta, by = NULL, ledger = NULL, out = NULL, ..., seed_not_private = NULL) {
  more <- list(...)
  refuse_others(more)
  file <- new_file(out)
  fit <- tacit_read(one_path(path))
  schema <- fit$schema
  settings <- setting_texts(c(list(epsilon = epsilon, delta = delta, ledger = ledger, seed = seed_not_private), more))
  result <- check(.Call(C_check, path, by, settings, source_of(data, if (is.null(schema)) "" else schema)))
  warn_of(result$unsettled)
  if (!is.null(file)) warn_of(put_file(result$json, file))
  if (is.null(ledger) && result$private) count_check(path, fit$privacy, result$epsilon, result$delta)
  result$calibration <- as.data.frame(result$calibration)
  result$by_term <- if (!is.null(result$by_term)) as.data.frame(result$by_term)
  structure(class = "tacit_check", result[setdiff(names(result), c("json", "unsettled"))])
}

print.tacit_check <- function(x, ...) {
  cat(x$text)
  invisible(x)
}

tacit_synthesize <- function(path, rows = NULL, sets = 1, seed = 1, out = NULL) {
  file <- new_file(out)
  beside <- if (!is.null(file)) new_file(paste0(file, ".json"))
  made <- check(.Call(C_synthesize, one_path(path), if (is.null(rows)) 0 else whole(rows, "rows", 1, 1e8), whole(sets, "sets", 1, 1000),
                      whole(seed, "seed", 0, 2^53)))
  if (!is.null(file)) {
    failure <- c(put_file(made$comparison, beside), put_file(made$csv, file))
    if (any(nzchar(failure))) refuse(failure[nzchar(failure)][[1L]], "io", "out")
  }
  structure(utils::read.csv(text = made$csv, check.names = FALSE, na.strings = character()), comparison = made$comparison)
}

# ---- texts that somebody asks for ----

tacit_statement <- function(path = NULL, ledger = NULL, out = NULL) {
  if (is.null(path) == is.null(ledger)) refuse("path or ledger: the directory of a fit, or the ledger of a data set; one of them", field = "path")
  file <- new_file(out)
  kind <- if (is.null(file)) "txt" else sub(".*[.]", "", file)
  if (!kind %in% c("txt", "html", if (!is.null(ledger)) "json")) refuse("out: a name that ends in .html or .txt, or of a ledger in .json", field = "out")
  page <- check(.Call(C_statement, if (!is.null(path)) one_path(path), if (!is.null(ledger)) one_path(ledger, "ledger"), kind))
  if (is.null(file)) return(page)
  failure <- put_file(page, file)
  if (nzchar(failure)) refuse(failure, "io", "out")
  invisible(page)
}

tacit_model <- function(formula, family, schema) {
  public <- schema_text(schema)
  family <- family_text(family)
  if (is.null(family)) refuse("a family: its name, or a family object such as binomial()", field = "family")
  check(.Call(C_model, formula_text(formula), family, public$text, public$name))
}
