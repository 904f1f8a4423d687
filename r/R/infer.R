# Statistics with noise, and what follows from them.

tacit_release <- function(formula = NULL, data, schema, statistic, epsilon, delta = NULL, column = NULL, mechanism = NULL, out = NULL,
                          ledger = NULL, ..., seed_not_private = NULL) {
  more <- list(...)
  refuse_others(more)
  public <- schema_text(schema)
  if (!is.null(column) && (!is.character(column) || !length(column) || anyNA(column))) refuse("column: a name, or names", field = "column")
  settings <- setting_texts(c(list(statistic = statistic, column = if (!is.null(column)) paste(column, collapse = ","), mechanism = mechanism,
                                   epsilon = epsilon, delta = delta, out = out, ledger = ledger, seed = seed_not_private), more))
  result <- check(.Call(C_release, if (!is.null(formula)) formula_text(formula), settings, public$text, public$name,
                        source_of(data, public$text)))
  warn_of(result$warnings, result$unsettled)
  if (nzchar(result$unwritten)) warning("the statistic was not written: ", result$unwritten, "; it is in what is returned", call. = FALSE)
  if (is.null(ledger) && is.null(seed_not_private)) count_spend(public$text, as.numeric(epsilon), if (is.null(delta)) 0 else as.numeric(delta))
  structure(class = "tacit_release", result[c("values", "scales", "yaml", "spent")])
}

warn_of <- function(...) {
  lines <- unlist(strsplit(c(...), "\n", fixed = TRUE))
  for (line in lines[nzchar(lines)]) warning(sub("^warning: ", "", line), call. = FALSE)
}

print.tacit_release <- function(x, ...) {
  cat(x$spent)
  invisible(x)
}

# What was released, and what stands for its file.
released_text <- function(statistic) {
  if (inherits(statistic, "tacit_release")) list(text = statistic$yaml, name = "statistic") else yaml_text(statistic, "statistic")
}

# Several: a list without names, as a list with names is YAML.
released_texts <- function(statistic) {
  is_several <- is.list(statistic) && !inherits(statistic, "tacit_release") && is.null(names(statistic))
  all <- if (is_several) lapply(statistic, released_text) else list(released_text(statistic))
  list(text = vapply(all, function(one) one$text, ""), name = vapply(all, function(one) one$name, ""))
}

tacit_infer <- function(model = NULL, statistic, n = NULL, method = NULL, chains = NULL, warmup = NULL, draws = NULL, out = NULL,
                        progress = interactive(), seed = NULL, ...) {
  law <- yaml_text(if (is.null(model)) "records: table\n" else model, "model")
  released <- released_texts(statistic)
  settings <- setting_texts(list(n = n, method = method, chains = chains, warmup = warmup, draws = draws, out = out, seed = seed, ...))
  result <- check(.Call(C_infer, law$text, law$name, released$text, released$name, settings, if (progress) watch))
  if (progress) cat("\r", strrep(" ", 60), "\r", sep = "", file = stderr())
  warn_of(result$warning)
  if (result$end == "interrupted") warning("interrupted: these are the draws so far", call. = FALSE)
  if (nzchar(result$unwritten)) warning("the report was not written: ", result$unwritten, "; the draws are in what is returned", call. = FALSE)
  new_fit(result$draws, result$statistic, result$records, NULL, result$statement, result$privacy, result$end)
}
