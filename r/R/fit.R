# Fits and plans. A formula is kept as text: a formula object carries its environment, and with it the records.

formula_text <- function(formula) {
  if (is.character(formula) && length(formula) == 1L && !is.na(formula)) return(formula)
  if (!inherits(formula, "formula"))
    refuse("a formula such as y ~ a + b, its text, or the name of a file with a program, 'visits.stan'", field = "formula")
  paste(deparse(formula, width.cutoff = 500L), collapse = " ")
}

is_program <- function(formula, more) grepl("\\.stan$", formula) || !is.null(more$program)

json <- function(x, key = "") {
  quoted <- function(text) paste0("\"", gsub("([\"\\\\])", "\\\\\\1", text), "\"")
  if (is.list(x)) {
    return(paste0("{", paste0(quoted(names(x)), ": ", mapply(json, x, names(x)), collapse = ", "), "}"))
  }
  items <- if (is.character(x) || is.factor(x)) quoted(as.character(x)) else if (is.logical(x)) tolower(x) else format(x, digits = 17, trim = TRUE)
  if (length(x) == 1L && key != "levels") items else paste0("[", paste(items, collapse = ", "), "]")
}

# YAML of a list, a text or a path, and what stands for its name in messages.
yaml_text <- function(yaml, what) {
  if (is.list(yaml)) return(list(text = json(yaml), name = what))
  if (!is.character(yaml) || length(yaml) != 1L || is.na(yaml)) refuse(sprintf("%s: a path, YAML text, or a list", what), field = what)
  if (!file.exists(yaml) && grepl("\n|: ", yaml)) return(list(text = yaml, name = what))
  if (!file.exists(yaml) || dir.exists(yaml)) refuse(sprintf("cannot open %s: No such file or directory", yaml), "missing", yaml)
  list(text = paste(readLines(yaml, warn = FALSE, encoding = "UTF-8"), collapse = "\n"), name = yaml)
}

# Settings that take several values; of any other the last would win over what was meant.
repeated <- c("constants", "margin", "prior", "public", "set", "statistic")

# Settings as a named character vector, hyphens for underscores.
setting_texts <- function(given) {
  if (length(given) && (is.null(names(given)) || any(!nzchar(names(given)))))
    refuse("settings have names: clip_grad = \"private\"", field = "settings")
  for (name in names(given)) {
    x <- given[[name]]
    if (!is.null(x) && !((is.character(x) || is.numeric(x) || is.logical(x)) && is.null(dim(x))))
      refuse(sprintf("%s: a number or a text", name), field = name)
    if (!is.null(x) && length(x) != 1L && !name %in% repeated) refuse(sprintf("%s: one value, not %d", name, length(x)), field = name)
    if (anyNA(x)) refuse(sprintf("%s: a number or a text, not NA", name), field = name)
  }
  given <- given[!vapply(given, function(x) is.null(x) || identical(x, FALSE), NA)]
  texts <- lapply(given, function(x) {
    if (isTRUE(x)) "true" else if (is.numeric(x)) format(x, digits = 17, trim = TRUE, scientific = NA) else as.character(x)
  })
  names <- rep(gsub("_", "-", names(texts), fixed = TRUE), lengths(texts))
  texts <- unlist(texts, use.names = FALSE)
  if (is.null(texts)) character() else structure(texts, names = names)
}

# What users of SPSS declared missing, which haven::read_sav(user_na = TRUE) leaves among the values, is missing.
without_user_missing <- function(x) {
  values <- attr(x, "na_values", exact = TRUE)
  range <- attr(x, "na_range", exact = TRUE)
  if (is.null(values) && is.null(range)) return(x)
  x <- as.vector(unclass(x))
  is_missing <- x %in% values
  if (length(range) == 2L) is_missing <- is_missing | (!is.na(x) & x >= range[[1L]] & x <= range[[2L]])
  replace(x, is_missing, NA)
}

# A column as the library reads it: durations as days, whatever unit R chose by their size; times as seconds since 1970, in UTC.
plain_column <- function(x) {
  if (inherits(x, "difftime")) return(as.numeric(x, units = "days"))
  if (inherits(x, "POSIXlt")) x <- as.POSIXct(x)
  without_user_missing(x)
}

# A matrix of one column, as scale() gives it, is that column; of several its columns, called as lm() calls them: m1, m2 of m, or m and their names.
plain_columns <- function(data) {
  columns <- lapply(names(data), function(name) {
    x <- data[[name]]
    if (length(dim(x)) != 2L) return(structure(list(plain_column(x)), names = name))
    if (ncol(x) == 1L) return(structure(list(as.vector(x[, 1L])), names = name))
    parts <- lapply(seq_len(ncol(x)), function(j) plain_column(x[, j]))
    structure(parts, names = paste0(name, if (is.null(colnames(x))) seq_len(ncol(x)) else colnames(x)))
  })
  do.call(c, c(columns, list(list())))
}

# What the library reads: a path, the columns of a frame that the schema names, or a stream.
source_of <- function(data, schema) {
  if (missing(data) || is.null(data)) refuse("data: a data frame, or a path", field = "data")
  if (is.character(data) && is.null(dim(data))) return(one_path(data, "data"))
  if (is.data.frame(data)) {
    data <- unclass(data)
    attributes(data) <- list(names = names(data))
    data <- plain_columns(data)
    return(data[vapply(names(data), function(name) nzchar(name) && grepl(name, schema, fixed = TRUE), NA)])
  }
  if (!requireNamespace("nanoarrow", quietly = TRUE)) {
    refuse("data other than data frames and paths need the package nanoarrow", field = "data")
  }
  nanoarrow::as_nanoarrow_array_stream(data)
}

ask <- function(plan, accept_poor) {
  if (plan$verdict == "good" || accept_poor) return(TRUE)
  text <- trimws(paste0(plan$text, plan$warning), "right")
  if (interactive()) {
    message(text)
    accept_poor <- tolower(trimws(readline("Spend the budget on this? [y/N] "))) %in% c("y", "yes")
  }
  if (accept_poor) return(TRUE)
  tacit_condition(paste0(text, "\nnothing was spent; accept_poor = TRUE goes on nevertheless"), "poor_plan", "epsilon", plan = plan)
}

watch <- function(iteration, n_iterations) {
  cat(sprintf("\riteration %.0f of %.0f", iteration, n_iterations), file = stderr())
}

# Options of the program that are something else here; and a seed that does not say what it gives up.
refuse_others <- function(more) {
  elsewhere <- c(iter = "draws, to keep of each chain, and warmup", cores = "threads", refresh = "progress = FALSE",
                 control = "adapt_delta and the like, by name (tacit_settings())",
                 n = "n_public, and only under relation add-remove", weights = "y | weights(w) in the formula", backend = "none to choose",
                 file = "out",
                 yes = "accept_poor = TRUE", quiet = "progress = FALSE", dry_run = "tacit_plan()", print_model = "tacit_model()",
                 curator_notes = "left out, for it prints what is private; out_of_range: error in the schema refuses values outside their bounds")
  found <- intersect(names(elsewhere), names(more))
  if (length(found)) refuse(sprintf("%s: here that is %s", found[[1L]], elsewhere[[found[[1L]]]]), field = found[[1L]])
  if ("seed" %in% names(more)) refuse("spelled seed_not_private: noise that can be repeated protects nobody", field = "seed")
}

tacit <- function(formula, data, schema, family = NULL, epsilon = NULL, delta = NULL, method = NULL, exposed = FALSE, draws = NULL,
                  chains = 4, prior = NULL, out = NULL, ledger = NULL, accept_poor = FALSE, progress = interactive(), ...,
                  seed_not_private = NULL) { # behind the dots, where `seed` is no short form of it
  more <- list(...)
  refuse_others(more)
  text <- formula_text(formula)
  public <- schema_text(schema)
  family <- family_text(family, text)
  settings <- setting_texts(c(list(family = family, epsilon = epsilon, delta = delta, method = method, exposed = exposed, draws = draws,
                                   chains = if (!identical(as.numeric(whole(chains, "chains", 1, 1e6)), 4)) chains, prior = prior, out = out,
                                   ledger = ledger,
                                   seed = seed_not_private), more))
  result <- check(.Call(C_fit, text, settings, public$text, public$name, source_of(data, public$text),
                        function(plan) ask(plan, accept_poor), if (progress) watch))
  if (progress) cat("\r", strrep(" ", 60), "\r", sep = "", file = stderr())
  if (result$end == "interrupted")
    warning(sprintf("interrupted: these are the draws so far%s",
                    if (result$is_private) sprintf("; epsilon %.6g at delta %g was charged, and stays so", result$epsilon, result$delta) else ""), call. = FALSE)
  if (nzchar(result$unwritten)) warning("the report was not written: ", result$unwritten, "; the draws are in what is returned", call. = FALSE)
  if (nzchar(result$unsettled)) warning(trimws(result$unsettled), call. = FALSE)
  if (!is.null(out) && !nzchar(result$unwritten)) wrote(out, public$text)
  if (is.null(ledger) && result$is_private) count_spend(public$text, result$epsilon, result$delta, out)
  new_fit(result$draws, text, if (is_program(text, more)) "program" else family, public$text, result$statement, result$privacy, result$end,
          if (!is.null(more$sd)) as.numeric(more$sd) else 0, result$program, result$releases)
}

new_fit <- function(draws, formula, family, schema, statement, privacy, end, known_sd = 0, program = NULL, releases = "") {
  dimnames(draws$values) <- list(iteration = NULL, chain = NULL, variable = draws$labels)
  dimnames(draws$summaries) <- list(draws$labels, c("mean", "sd", "mcse", "q5", "q50", "q95", "Rhat", "Bulk_ESS", "Tail_ESS"))
  if (!is.null(draws$prior)) dimnames(draws$prior) <- list(draws$labels, c("prior_sd", "prior_share"))
  structure(class = "tacit_fit",
            list(program = if (!is.null(program)) lines_of(program), formula = formula, family = family, schema = schema, draws = draws$values,
                 stan_names = draws$names, summaries = draws$summaries,
                 problems = draws$problems, warnings = draws$warnings, no_intervals = draws$no_intervals, prior = draws$prior,
                 statement = lines_of(statement),
                 privacy = lines_of(privacy), end = end, known_sd = known_sd, releases = lines_of(releases)))
}

public_n <- function(n) {
  if (!is.numeric(n) || length(n) != 1L || is.na(n)) refuse("n is a public number: counting records here may tell what is private", field = "n")
  as.numeric(n)
}

tacit_epsilon_for <- function(width, formula, schema, n, family, delta, out = NULL, ...) {
  if (!is.numeric(width) || length(width) != 1L || is.na(width))
    refuse("width: a number above 1, of intervals beside those without privacy", field = "width")
  n <- public_n(n)
  file <- new_file(out)
  public <- schema_text(schema)
  settings <- setting_texts(list(family = family_text(family, formula_text(formula)), delta = delta, ...))
  found <- check(.Call(C_want_width, formula_text(formula), settings, public$text, public$name, n, as.numeric(width)))
  if (!is.null(file)) {
    failure <- put_file(found$page, file)
    if (nzchar(failure)) refuse(failure, "io", "out")
  }
  as.data.frame(found[c("relation", "epsilon", "epsilon_unkind")])
}

tacit_plan <- function(formula, schema, n, family = NULL, epsilon = NULL, delta = NULL, method = NULL, ...) {
  n <- public_n(n)
  public <- schema_text(schema)
  settings <- setting_texts(list(family = family_text(family, formula_text(formula)), epsilon = epsilon, delta = delta, method = method, ...))
  tryCatch(check(.Call(C_plan, formula_text(formula), settings, public$text, public$name, n)), tacit_budget_error = function(refusal)
    structure(class = "tacit_plan", list(verdict = "refused", text = "", warning = paste0(conditionMessage(refusal), "\n"), price = "")))
}

print.tacit_plan <- function(x, ...) {
  cat(x$text, x$warning, x$price, sep = "")
  invisible(x)
}

tacit_settings <- function(of = c("fit", "release", "infer")) as.data.frame(.Call(C_settings, match.arg(of)))

# As of brms: class "b" is of coefficients, "Intercept" of the intercept, the others of what a family has beside them.
set_prior <- function(prior, class = "b", coef = "", ...) {
  no_more("set_prior", ...)
  for (text in list(prior, class, coef))
    if (!is.character(text) || length(text) != 1L || is.na(text)) refuse("set_prior(\"normal(0, 1)\", coef = \"age\"): texts", field = "prior")
  own <- c(Intercept = "(Intercept)", sigma = "(sigma)", shape = "(shape)", phi = "(phi)", nu = "(nu)", zi = "(zero)", hu = "(zero)")
  if (!class %in% c("b", names(own))) {
    refuse(sprintf("class '%s': priors are set of coefficients (\"b\") and of \"Intercept\", \"sigma\", \"shape\", \"phi\", \"nu\", \"zi\" and \"hu\"; others stand in the program that tacit_model() writes, to edit and fit", class), field = "class")
  }
  if (class != "b") coef <- own[[class]]
  if (nzchar(coef)) paste0(coef, ": ", prior) else prior
}

tacit_read <- function(path, schema = NULL) {
  one_path(path)
  draws <- check(.Call(C_read, path))
  lines <- readLines(file.path(path, "run.yaml"), warn = FALSE)
  setting <- function(name) gsub("^\"|\"$", "", sub(" +# default$", "", sub("^[^:]*: ", "", grep(paste0("^", name, ": "), lines, value = TRUE))))
  text_of <- function(name) if (file.exists(file.path(path, name))) paste(readLines(file.path(path, name), warn = FALSE), collapse = "\n") else ""
  statement <- text_of("privacy.txt")
  privacy <- text_of("privacy.json")
  if (is.null(schema) && file.exists(file.path(path, "schema.yaml"))) schema <- file.path(path, "schema.yaml")
  end <- sub(".*\"end\": \"([a-z]*)\".*", "\\1", privacy)
  sd <- suppressWarnings(as.numeric(setting("sd")))
  new_fit(draws, setting("formula"), setting("family"), if (!is.null(schema)) schema_text(schema)$text, statement, privacy, end,
          if (length(sd) == 1L && !is.na(sd)) sd else 0, kept_program(file.path(path, "program.stan")), text_of("releases.json"))
}

# The program that was fitted, as it was written with the fit; NULL: there is none.
kept_program <- function(path) {
  if (!file.exists(path)) return(NULL)
  text <- readChar(path, file.size(path), useBytes = TRUE)
  Encoding(text) <- "UTF-8"
  text
}

tacit_account <- function(events, delta = NULL, epsilon = NULL, counts = 1, relation = "substitute", method = "auto") {
  if (is.null(delta) == is.null(epsilon)) refuse("give either delta (to get epsilon) or epsilon (to get delta)", field = "delta")
  for (x in list(delta, epsilon))
    if (!is.null(x) && (!is.numeric(x) || length(x) != 1L || is.na(x))) refuse("delta or epsilon: a number", field = "delta")
  if (!is.character(events) || anyNA(events) || !is.numeric(counts))
    refuse("events are texts such as \"gaussian:sigma=20\", counts numbers", field = "events")
  counts <- rep_len(as.numeric(counts), length(events))
  if (!length(events) || anyNA(counts) || any(counts < 1 | counts > 2^53 | counts != floor(counts))) {
    refuse("events need counts that are whole numbers from 1", field = "events")
  }
  answer <- check(.Call(C_account, as.character(events), counts, relation, epsilon, delta, method))
  if (is.null(epsilon)) answer$epsilon else answer$delta
}

tacit_ledger <- function(path, verify = FALSE) {
  one_path(path)
  state <- check(.Call(C_ledger, path, verify))
  spends <- as.data.frame(state[c("time", "who", "purpose", "settled")])
  structure(class = "tacit_ledger", c(state[c("data_id", "relation", "head", "epsilon", "delta", "spent", "left")], list(spends = spends)))
}

tacit_ledger_create <- function(path, data_id, epsilon, delta, relation = "substitute", unit = NULL, max_rows = 1) {
  one_path(path)
  if (!is.numeric(epsilon) || !is.numeric(delta)) refuse("epsilon and delta are numbers", field = "epsilon")
  check(.Call(C_ledger_create, path, data_id, epsilon, delta, relation, unit, whole(max_rows, "max_rows", 1, 2^53)))
  tacit_ledger(path)
}

print.tacit_ledger <- function(x, ...) {
  cat(sprintf("ledger of '%s': epsilon %g at delta %g (relation %s)\nspent %.6g, left for one more run %.6g\n", x$data_id, x$epsilon, x$delta,
              x$relation, x$spent, x$left * (1 - 5e-6)))
  if (nrow(x$spends) > 0) print(x$spends)
  invisible(x)
}
