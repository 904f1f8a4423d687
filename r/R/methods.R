# What is done with a fit: tables, draws, pictures. What rests on rows that the analyst brings is in predict.R.

# What a call was given besides what it knows: an argument of another package's habit is answered, never dropped.
no_more <- function(what, ...) {
  if (...length() == 0L) return(invisible())
  given <- names(list(...))[[1L]]
  if (is.null(given) || !nzchar(given)) refuse(sprintf("%s() was given an argument too many: give them by name", what), field = what)
  instead <- c(robust = "summary(fit, robust = TRUE) has medians", nsamples = "ndraws", subset = "draw_ids", probs = "prob, of the interval: 0.95",
               prob = "probs, the quantiles: c(0.025, 0.975)",
               type = "fitted() is of expected responses, its scale = \"linear\" of the linear predictor; predict() of responses",
               interval = "probs", level = "probs", se.fit = "the table has Est.Error",
               re_formula = "new rows name their groups, which are levels of the schema",
               allow_new_levels = "levels are those of the schema", priors = "prior_summary()", variable = "pars",
               parm = "posterior_interval() gives all",
               method = "predict() and posterior_predict() are of responses", spaghetti = "posterior_epred() has the draws")
  refuse(paste0(sprintf("%s() has no argument '%s'", what, given), if (given %in% names(instead)) paste0("; here: ", instead[[given]])),
         field = given)
}

of_probability <- function(prob) {
  if (!is.numeric(prob) || length(prob) != 1L || !isTRUE(prob > 0 && prob < 1)) refuse("prob: a number between 0 and 1, such as 0.95", field = "prob")
  prob
}

of_quantiles <- function(probs) {
  if (!is.numeric(probs) || length(probs) < 2L || anyNA(probs) || any(probs < 0 | probs > 1))
    refuse("probs: two quantiles or more, such as c(0.025, 0.975)", field = "probs")
  probs
}

is_yes <- function(x, field) {
  if (!isTRUE(x) && !isFALSE(x)) refuse(sprintf("%s: TRUE or FALSE", field), field = field)
  x
}

tails <- function(prob) c((1 - prob) / 2, (1 + prob) / 2)

# A check of what the fit rests on says that there must be no intervals: what draws alone would say then hides it.
need_intervals <- function(object) {
  if (isTRUE(object$no_intervals))
    refuse("a check of the fit forbids intervals (its $problems), and what is computed from its draws would hide that: nothing is", "data", "fit")
}

describe <- function(draws, probs = c(0.05, 0.95)) {
  if (length(dim(draws)) == 3L)
    return(sapply(dimnames(draws)[[3L]], function(class) describe(draws[, , class, drop = TRUE], probs), simplify = "array"))
  draws <- as.matrix(draws)
  quantiles <- matrix(apply(draws, 2L, quantile, probs, names = FALSE), length(probs))
  out <- cbind(colMeans(draws), apply(draws, 2L, sd), t(quantiles))
  dimnames(out) <- list(colnames(draws), c("Estimate", "Est.Error", paste0("Q", format(100 * probs, trim = TRUE, digits = 6, drop0trailing = TRUE))))
  out
}

# ---- the table ----

summary.tacit_fit <- function(object, prob = 0.9, robust = FALSE, ...) {
  no_more("summary", ...)
  s <- object$summaries
  of <- tails(of_probability(prob))
  draws <- as.matrix(object)
  quantiles <- describe(draws, of)[, 3:4, drop = FALSE]
  middle <- if (is_yes(robust, "robust")) cbind(apply(draws, 2L, stats::median), apply(draws, 2L, stats::mad)) else s[, c("mean", "sd"), drop = FALSE]
  if (isTRUE(object$no_intervals)) quantiles[] <- NaN
  if (isTRUE(object$no_intervals) && robust) middle[, 2L] <- NaN
  table <- data.frame(middle[, 1L], middle[, 2L], quantiles, s[, "Rhat"], s[, "Bulk_ESS"], s[, "Tail_ESS"], row.names = rownames(s))
  percent <- format(100 * prob, trim = TRUE, digits = 6)
  names(table) <- c("Estimate", "Est.Error", sprintf("%s-%s%% CI", c("l", "u"), percent), "Rhat", "Bulk_ESS", "Tail_ESS")
  structure(table, class = c("tacit_summary", "data.frame"),
            about = list(family = object$family, formula = object$formula, n = dim(object$draws),
                         privacy = strsplit(object$statement, "\n", fixed = TRUE)[[1L]][[1L]],
                         end = object$end, problems = object$problems, warnings = object$warnings, scaled = scaled_ones(object)))
}

print.tacit_summary <- function(x, digits = 3, ...) {
  about <- attr(x, "about")
  class(x) <- "data.frame"
  if (!is.null(about)) cat("Family: ", about$family, "\nFormula: ", about$formula, "\n\n", sep = "")
  counts <- intersect(c("Bulk_ESS", "Tail_ESS"), names(x))
  x[counts] <- lapply(x[counts], round)
  print(format(x, digits = digits), ...)
  if (is.null(about)) return(invisible(x))
  cat(sprintf("\n%d chain%s of %d draws. %s\n", about$n[[2L]], if (about$n[[2L]] == 1L) "" else "s", about$n[[1L]], about$privacy))
  if (length(about$scaled))
    cat("of features mapped to [-1, 1] by their bounds, not on the scale of the columns: ",
        paste(unique(sub("\\[.*", "", about$scaled)), collapse = ", "), "\n", sep = "")
  if (about$end != "complete") cat("The run ended early:", about$end, "\n")
  if (length(about$problems)) cat(paste0("problem: ", about$problems, "\n"), sep = "")
  if (length(about$warnings)) cat(paste0("warning: ", about$warnings, "\n"), sep = "")
  invisible(x)
}

print.tacit_fit <- function(x, digits = 3, ...) {
  print(summary(x), digits = digits, ...)
  invisible(x)
}

# Texts with lines.
print.tacit_text <- function(x, ...) {
  cat(sub("\n*$", "\n", x), sep = "")
  invisible(x)
}

lines_of <- function(text) structure(text, class = "tacit_text")

# ---- draws ----

labels_of <- function(x, pars = NULL, field = "variable") {
  labels <- dimnames(x$draws)[[3L]]
  if (is.null(pars)) return(labels)
  if (!is.character(pars) || !length(pars) || anyNA(pars)) refuse(sprintf("%s: names of parameters", field), field = field)
  found <- lapply(pars, function(name) { # a label; a name as in Stan CSV, "b_age"; a vector by its name
    if (name %in% labels) name else if (name %in% x$stan_names) labels[x$stan_names == name] else labels[startsWith(labels, paste0(name, "["))]
  })
  if (any(lengths(found) == 0L)) {
    refuse(sprintf("the fit has no parameter '%s'; there are %s", pars[lengths(found) == 0L][[1L]], paste(head(labels, 20L), collapse = ", ")),
           field = field)
  }
  unique(unlist(found))
}

as.array.tacit_fit <- function(x, variable = NULL, ...) {
  no_more("as.array", ...)
  x$draws[, , labels_of(x, variable), drop = FALSE]
}
as.matrix.tacit_fit <- function(x, variable = NULL, ...) {
  no_more("as.matrix", ...)
  labels <- labels_of(x, variable)
  matrix(x$draws[, , labels], ncol = length(labels), dimnames = list(NULL, labels))
}
as.data.frame.tacit_fit <- function(x, row.names = NULL, optional = FALSE, variable = NULL, ...) {
  as.data.frame(as.matrix(x, variable, ...), row.names = row.names, optional = TRUE)
}

as_draws_array.tacit_fit <- function(x, ...) posterior::as_draws_array(x$draws)
as_draws.tacit_fit <- as_draws_array.tacit_fit
as_draws_df.tacit_fit <- function(x, ...) posterior::as_draws_df(as_draws_array.tacit_fit(x))
variables.tacit_fit <- function(x, ...) dimnames(x$draws)[[3L]]
ndraws.tacit_fit <- function(x) prod(dim(x$draws)[1:2])
nchains.tacit_fit <- function(x) dim(x$draws)[[2L]]
niterations.tacit_fit <- function(x) dim(x$draws)[[1L]]

column_of <- function(object, column, pars)
  structure(object$summaries[labels_of(object, pars, "pars"), column], names = labels_of(object, pars, "pars"))
rhat.tacit_fit <- function(object, pars = NULL, ...) column_of(object, "Rhat", pars)
neff_ratio.tacit_fit <- function(object, pars = NULL, ...) column_of(object, "Bulk_ESS", pars) / ndraws.tacit_fit(object)

# ---- coefficients ----

# A formula whose family is a program has its coefficients twice: as they are drawn, of features in [-1, 1], and on the scale of the columns.
is_written <- function(object) !is.null(object$program) && !identical(object$family, "program")

# By names as in Stan CSV, which a column's name cannot take; of a fit of an earlier build labels are names.
stan_names <- function(object) if (is.null(object$stan_names)) dimnames(object$draws)[[3L]] else object$stan_names

scaled_ones <- function(object) {
  if (!is_written(object)) return(character())
  labels <- dimnames(object$draws)[[3L]]
  pattern <- if ("sigma_s" %in% labels) "^(b_s|Intercept_s|sigma_s|(sd|r)_.+_[0-9]+)($|[.[])" else "^(b_s|Intercept_s|cut)($|[.[])"
  labels[grepl(pattern, stan_names(object))]
}

on_columns <- function(object) setdiff(dimnames(object$draws)[[3L]], scaled_ones(object))

coef.tacit_fit <- function(object, ...) {
  no_more("coef", ...)
  labels <- on_columns(object)
  structure(object$summaries[labels, "mean"], names = labels)
}

vcov.tacit_fit <- function(object, ...) {
  no_more("vcov", ...)
  need_intervals(object)
  labels <- on_columns(object)
  structure(stats::cov(as.matrix(object, labels)), dimnames = list(labels, labels))
}

fixef <- function(object, ...) UseMethod("fixef")
fixef.tacit_fit <- function(object, summary = TRUE, probs = c(0.05, 0.95), ...) {
  no_more("fixef", ...)
  own <- c("sigma", "shape", "phi", "nu", "zero")
  is_effect <- if (is_written(object)) startsWith(stan_names(object), "b_") else !stan_names(object) %in% own
  draws <- as.matrix(object, setdiff(dimnames(object$draws)[[3L]][is_effect], scaled_ones(object)))
  if (!is_yes(summary, "summary")) return(draws)
  table <- describe(draws, of_quantiles(probs))
  if (isTRUE(object$no_intervals)) table[, -1L] <- NaN
  table
}

posterior_interval <- function(object, ...) UseMethod("posterior_interval")
posterior_interval.tacit_fit <- function(object, prob = 0.9, pars = NULL, ...) {
  no_more("posterior_interval", ...)
  need_intervals(object)
  of <- tails(of_probability(prob))
  table <- describe(as.matrix(object, labels_of(object, pars, "pars")), of)[, 3:4, drop = FALSE]
  colnames(table) <- paste0(format(100 * of, trim = TRUE, digits = 6, drop0trailing = TRUE), "%")
  table
}

# Sentences such as "age > 0" or "age = 2 * bmi", as contrasts.
hypothesis <- function(x, ...) UseMethod("hypothesis")
hypothesis.tacit_fit <- function(x, hypothesis, prob = 0.9, ...) {
  no_more("hypothesis", ...)
  if (!is.character(hypothesis) || !length(hypothesis) || anyNA(hypothesis)) refuse("hypotheses such as \"age > 0\"", field = "hypothesis")
  parts <- lapply(hypothesis, sides_of)
  differences <- vapply(parts, function(part) sprintf("(%s) - (%s)", trimws(part[[2L]]), trimws(part[[4L]])), "")
  draws <- contrast_draws(x, differences)
  sign <- vapply(parts, `[[`, "", 3L)
  above <- colMeans(draws > 0)
  share <- ifelse(sign == ">", above, ifelse(sign == "<", 1 - above, NA))
  table <- data.frame(Hypothesis = hypothesis, describe(draws, tails(of_probability(prob))), Evid.Ratio = share / (1 - share), Post.Prob = share,
                      row.names = NULL)
  names(table)[4:5] <- c("CI.Lower", "CI.Upper")
  table
}

# The text, its left side, the sign and its right side: the sign that stands outside of parentheses and backquotes, as labels may have others.
sides_of <- function(text) {
  letters <- strsplit(text, "", fixed = TRUE)[[1L]]
  is_quoted <- cumsum(letters == "`") %% 2L == 1L
  depth <- cumsum((letters == "(") - (letters == ")"))
  place <- which(letters %in% c("<", ">", "=") & !is_quoted & depth == 0)
  if (length(place) != 1L || place == 1L || place == length(letters))
    refuse(sprintf("'%s': two sides and <, > or = between them were expected", text), field = "hypothesis")
  c(text, substr(text, 1L, place - 1L), letters[[place]], substring(text, place + 1L))
}

# ---- what a fit knows of its model ----

family.tacit_fit <- function(object, ...) {
  known <- switch(object$family, bernoulli = stats::binomial(), gaussian = stats::gaussian(), poisson = stats::poisson())
  if (!is.null(known)) return(known)
  structure(class = "family", list(family = object$family, link = link_of(object$family)))
}

formula.tacit_fit <- function(x, ...) {
  if (identical(x$family, "program")) refuse("the fit is of a program: $program has it", field = "formula")
  tryCatch(stats::as.formula(x$formula, env = baseenv()), error = function(e) refuse(sprintf("'%s' is no formula of R's", x$formula),
                                                                                     field = "formula"))
}

sigma.tacit_fit <- function(object, ...) {
  place <- match("sigma", stan_names(object))
  if (isTRUE(object$known_sd > 0)) return(object$known_sd)
  if (is.na(place)) refuse(sprintf("family %s has no residual sd here", object$family), field = "sigma")
  object$summaries[[place, "mean"]]
}

prior_summary <- function(object, ...) UseMethod("prior_summary")
prior_summary.tacit_fit <- function(object, ...) {
  no_more("prior_summary", ...)
  if (!is.null(object$program))
    refuse("the priors stand in the program: cat(fit$program); tacit_refit() takes it with others, program = FILE", field = "prior")
  if (is.null(object$prior))
    refuse("the method of this fit does not say what its priors came to; run.yaml in its directory has the settings", field = "prior")
  data.frame(coef = dimnames(object$draws)[[3L]], prior_sd = object$prior[, "prior_sd"], prior_share = object$prior[, "prior_share"],
             row.names = NULL)
}

# ---- pictures ----

# Density of all chains together beside the chains; at most five parameters a page. Everything else: as.array(fit) to bayesplot.
plot.tacit_fit <- function(x, pars = NULL, ...) {
  no_more("plot", ...)
  pars <- labels_of(x, pars, "pars")
  before <- par(mfrow = c(min(length(pars), 5L), 2L), mar = c(2.2, 4, 2, 1))
  on.exit(par(before))
  for (name in pars) {
    draws <- matrix(x$draws[, , name], dim(x$draws)[[1L]])
    colours <- hcl.colors(ncol(draws), "Dark 3")
    density <- stats::density(draws)
    graphics::plot(density, main = name, xlab = "", ylab = "density")
    polygon(density, col = adjustcolor("steelblue", 0.3), border = NA)
    matplot(draws, type = "l", lty = 1, col = colours, ylab = name, xlab = "")
  }
  invisible(x)
}

# The draws' own quantiles; stats' default would take means and sds for a normal distribution.
confint.tacit_fit <- function(object, parm = NULL, level = 0.95, ...) {
  no_more("confint", ...)
  posterior_interval(object, prob = level, pars = if (is.null(parm)) on_columns(object) else parm)
}

posterior_summary <- function(x, ...) UseMethod("posterior_summary")
posterior_summary.tacit_fit <- function(x, pars = NULL, probs = c(0.05, 0.95), ...) {
  no_more("posterior_summary", ...)
  table <- describe(as.matrix(x, pars), of_quantiles(probs))
  if (isTRUE(x$no_intervals)) table[, -1L] <- NaN
  table
}

# ---- refused, with the reason ----

logLik.tacit_fit <- function(object, ...) # AIC() and BIC() ask for it
  refuse("logLik(), AIC() and BIC() need the likelihood of the records: they are not kept, and it would release them", field = "logLik")
deviance.tacit_fit <- function(object, ...) refuse("deviance() needs the records, which are not kept: it would release them", field = "deviance")
anova.tacit_fit <- function(object, ...)
  refuse("anova() compares likelihoods of the records, which are not kept; hypothesis(fit, \"age > 0\") looks at coefficients", field = "anova")
model.matrix.tacit_fit <- function(object, ...) refuse("model.matrix() is of the records, which are not kept", field = "model.matrix")

nobs.tacit_fit <- function(object, ...) refuse("a fit does not keep the number of records: under relation add-remove it is private", field = "nobs")
residuals.tacit_fit <- function(object, ...) {
  refuse("residuals() need records, which are not kept; tacit_check() releases residuals by bins, for a budget of its own", field = "residuals")
}
pp_check.tacit_fit <- function(object, ...) {
  refuse("pp_check() compares with records, which are not kept: it would release them; tacit_check() does so for a budget of its own",
         field = "pp_check")
}
loo.tacit_fit <- function(x, ...) refuse("loo() needs the likelihood of each record: records are not kept, and it would release them", field = "loo")
waic.tacit_fit <- function(x, ...)
  refuse("waic() needs the likelihood of each record: records are not kept, and it would release them", field = "waic")
