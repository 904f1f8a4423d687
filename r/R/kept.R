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

# A directory of what the fit released, which is public: itself, or one to be removed. with_draws: drawn again, with a whole report.
folder_of <- function(fit, with_draws = FALSE) {
  if (!inherits(fit, "tacit_fit")) return(one_path(fit))
  if (is.null(fit$releases) || !nzchar(fit$releases)) {
    refuse("the fit keeps no releases that inference can start from: only those by method noise-aware do", "missing", "releases")
  }
  folder <- tempfile("releases")
  dir.create(folder)
  files <- list(releases.json = fit$releases, privacy.json = fit$privacy, privacy.txt = fit$statement)
  for (name in names(files)) writeLines(files[[name]], file.path(folder, name), sep = "")
  if (!with_draws) return(folder)
  on.exit(unlink(folder, recursive = TRUE))
  check(.Call(C_refit, folder, FALSE, 0, NULL, c(out = drawn <- tempfile("fit")), NULL))
  drawn
}

# Calls `use` with the directory of each fit, or the path that it is.
with_folders <- function(fits, use, with_draws = FALSE) {
  paths <- vapply(fits, folder_of, "", with_draws)
  on.exit(unlink(paths[vapply(fits, inherits, NA, "tacit_fit")], recursive = TRUE))
  use(paths)
}

# A fit that was read; one that did not end is drawn from what it released.
fitted_of <- function(path) {
  path <- one_path(path)
  if (!file.exists(file.path(path, "unfinished")) && file.exists(file.path(path, "draws-1.csv"))) return(tacit_read(path))
  if (!file.exists(file.path(path, "releases.json"))) return(tacit_read(path))
  drawn <- tempfile("fit")
  on.exit(unlink(drawn, recursive = TRUE))
  check(.Call(C_refit, path, FALSE, 0, NULL, setting_texts(list(out = drawn)), NULL))
  tacit_read(drawn)
}

redraw <- function(fits, given, out, progress, disjoint = FALSE, between = 0, shown = NULL) {
  if (!is.null(out)) one_path(out, "out")
  former <- if (inherits(fits[[1L]], "tacit_fit")) fits[[1L]] else fitted_of(fits[[1L]])
  result <- with_folders(fits, function(paths) {
    check(.Call(C_refit, paths, disjoint, between, shown, setting_texts(c(given, list(out = out))), if (progress) watch))
  })
  if (progress) cat("\r", strrep(" ", 60), "\r", sep = "", file = stderr())
  if (result$end == "interrupted") warning("interrupted: these are the draws so far", call. = FALSE)
  if (nzchar(result$unwritten)) warning("the report was not written: ", result$unwritten, "; the draws are in what is returned", call. = FALSE)
  new_fit(result$draws, former$formula, former$family, former$schema, result$statement, result$privacy, result$end, former$known_sd, result$program,
          result$releases)
}

tacit_refit <- function(path, prior = NULL, out = NULL, seed = NULL, check = NULL, progress = interactive(), ...) {
  redraw(list(path), list(prior = prior, seed = seed, ...), out, progress, shown = if (!is.null(check)) one_path(check, "check"))
}

update.tacit_fit <- function(object, prior = NULL, ...) {
  others <- if (inherits(prior, "formula")) "formula" else intersect(names(list(...)), c("formula.", "formula", "newdata", "data", "family", "schema",
                                                                                         "epsilon", "delta"))
  if (length(others)) {
    refuse(sprintf("update() draws again from what the fit released, with another prior, seed or number of draws; another %s needs the records: tacit(), and a budget", sub("[.]$", "", others[[1L]])),
           field = others[[1L]])
  }
  tacit_refit(object, prior = prior, ...)
}

tacit_combine <- function(paths, disjoint = FALSE, exchangeable = FALSE, between_sd = NULL, prior = NULL, out = NULL, seed = NULL,
                          progress = interactive(), ...) {
  if (inherits(paths, "tacit_fit") || !(is.character(paths) || is.list(paths)) || !length(paths) %in% 2:64) {
    refuse("2 to 64 fits: their directories, or a list of what tacit() returned", field = "paths")
  }
  if (!isTRUE(exchangeable) && !isFALSE(exchangeable)) refuse("exchangeable: TRUE or FALSE", field = "exchangeable")
  between <- if (is.null(between_sd)) 0.5 else between_sd
  if (!is.numeric(between) || length(between) != 1L || !isTRUE(between >= 0.01 && between <= 100) || (!is.null(between_sd) && !exchangeable)) {
    refuse("between_sd: a number from 0.01 to 100, with exchangeable = TRUE", field = "between_sd")
  }
  redraw(as.list(paths), list(prior = prior, seed = seed, ...), out, progress, isTRUE(disjoint), if (exchangeable) as.numeric(between) else 0)
}

tacit_check <- function(path, data, epsilon, delta, by = NULL, ledger = NULL, out = NULL, ..., seed_not_private = NULL) {
  more <- list(...)
  refuse_others(more)
  file <- new_file(out)
  fit <- if (inherits(path, "tacit_fit")) path else tacit_read(one_path(path))
  schema <- fit$schema
  settings <- setting_texts(c(list(epsilon = epsilon, delta = delta, ledger = ledger, seed = seed_not_private), more))
  source <- source_of(data, if (is.null(schema)) "" else schema)
  result <- with_folders(list(path), function(paths) check(.Call(C_check, paths, by, settings, source)), with_draws = TRUE)
  warn_of(result$unsettled)
  if (!is.null(file)) warn_of(put_file(result$json, file))
  if (is.null(ledger) && result$private) count_check(if (inherits(path, "tacit_fit")) fit$schema else path, fit$privacy, result$epsilon, result$delta)
  result$calibration <- as.data.frame(result$calibration)
  result$by_term <- if (!is.null(result$by_term)) as.data.frame(result$by_term)
  if (!is.null(result$levels)) result$by_term <- cbind(level = result$levels, result$by_term)
  result$levels <- NULL
  result$shape <- if (!is.null(result$shape)) as.data.frame(result$shape)
  result <- result[!vapply(result, is.null, NA)]
  structure(class = "tacit_check", result[setdiff(names(result), c("json", "unsettled"))])
}

print.tacit_check <- function(x, ...) {
  cat(x$text)
  invisible(x)
}

tacit_synthesize <- function(path, rows = NULL, sets = 1, seed = 1, out = NULL) {
  file <- new_file(out)
  beside <- if (!is.null(file)) new_file(paste0(file, ".json"))
  rows <- if (is.null(rows)) 0 else whole(rows, "rows", 1, 1e8)
  sets <- whole(sets, "sets", 1, 1000)
  seed <- whole(seed, "seed", 0, 2^53)
  made <- with_folders(list(path), function(paths) check(.Call(C_synthesize, paths, rows, sets, seed)), with_draws = TRUE)
  if (!is.null(file)) {
    failure <- c(put_file(made$comparison, beside), put_file(made$csv, file))
    if (any(nzchar(failure))) refuse(failure[nzchar(failure)][[1L]], "io", "out")
  }
  structure(utils::read.csv(text = made$csv, check.names = FALSE, na.strings = character()), comparison = made$comparison)
}

# ---- texts that somebody asks for ----

tacit_statement <- function(path = NULL, ledger = NULL, out = NULL) {
  if (inherits(path, "tacit_fit")) return(with_folders(list(path), function(folder) tacit_statement(folder, ledger, out), with_draws = TRUE))
  if (is.null(path) == is.null(ledger)) refuse("path or ledger: the directory of a fit, or the ledger of a data set; one of them", field = "path")
  file <- new_file(out)
  kind <- if (is.null(file)) "txt" else sub(".*[.]", "", file)
  if (!kind %in% c("txt", "html", if (!is.null(ledger)) "json"))
    refuse("out: a name that ends in .html or .txt, or of a ledger in .json", field = "out")
  page <- check(.Call(C_statement, if (!is.null(path)) one_path(path), if (!is.null(ledger)) one_path(ledger, "ledger"), kind))
  if (is.null(file)) return(lines_of(page))
  failure <- put_file(page, file)
  if (nzchar(failure)) refuse(failure, "io", "out")
  invisible(lines_of(page))
}

tacit_model <- function(formula, family, schema) {
  public <- schema_text(schema)
  family <- family_text(family, formula_text(formula))
  if (is.null(family)) refuse("a family: its name, or a family object such as binomial()", field = "family")
  lines_of(check(.Call(C_model, formula_text(formula), family, public$text, public$name)))
}
