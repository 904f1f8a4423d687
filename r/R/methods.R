# What is done with a fit: tables, draws, pictures, predictions.

privacy_line <- function(x) strsplit(x$statement, "\n", fixed = TRUE)[[1L]][[1L]]

summary.tacit_fit <- function(object, ...) {
  s <- object$summaries
  table <- data.frame(Estimate = s[, "mean"], Est.Error = s[, "sd"], "l-90% CI" = s[, "q5"], "u-90% CI" = s[, "q95"], Rhat = s[, "Rhat"],
                      Bulk_ESS = s[, "Bulk_ESS"], Tail_ESS = s[, "Tail_ESS"], check.names = FALSE)
  rownames(table) <- rownames(s)
  table
}

print.tacit_fit <- function(x, digits = 3, ...) {
  cat("Family: ", x$family, "\nFormula: ", x$formula, "\n\n", sep = "")
  table <- summary(x)
  table[c("Bulk_ESS", "Tail_ESS")] <- round(table[c("Bulk_ESS", "Tail_ESS")])
  print(format(table, digits = digits), ...)
  cat(sprintf("\n%d chain%s of %d draws. %s\n", dim(x$draws)[[2L]], if (dim(x$draws)[[2L]] == 1L) "" else "s", dim(x$draws)[[1L]], privacy_line(x)))
  if (x$end != "complete") cat("The run ended early:", x$end, "\n")
  if (length(x$problems)) cat(paste0("problem: ", x$problems, "\n"), sep = "")
  invisible(x)
}

as.array.tacit_fit <- function(x, ...) x$draws
as.matrix.tacit_fit <- function(x, ...) {
  matrix(x$draws, ncol = dim(x$draws)[[3L]], dimnames = list(NULL, dimnames(x$draws)[[3L]]))
}
as.data.frame.tacit_fit <- function(x, ...) as.data.frame(as.matrix(x), optional = TRUE)

as_draws_array.tacit_fit <- function(x, ...) posterior::as_draws_array(x$draws)
as_draws.tacit_fit <- as_draws_array.tacit_fit
as_draws_df.tacit_fit <- function(x, ...) posterior::as_draws_df(as_draws_array.tacit_fit(x))

coef.tacit_fit <- function(object, ...) structure(object$summaries[, "mean"], names = rownames(object$summaries))
vcov.tacit_fit <- function(object, ...) stats::cov(as.matrix(object))

fixef <- function(object, ...) UseMethod("fixef")
fixef.tacit_fit <- function(object, ...) {
  s <- object$summaries[rownames(object$summaries) != "sigma", , drop = FALSE]
  cbind(Estimate = s[, "mean"], Est.Error = s[, "sd"], Q5 = s[, "q5"], Q95 = s[, "q95"])
}

plot.tacit_fit <- function(x, ...) {
  if (requireNamespace("bayesplot", quietly = TRUE) && requireNamespace("gridExtra", quietly = TRUE)) return(bayesplot::mcmc_combo(x$draws, ...))
  n <- dim(x$draws)[[3L]]
  before <- par(mfrow = c(n, 1), mar = c(2, 4, 2, 1))
  on.exit(par(before))
  for (j in seq_len(n)) {
    matplot(x$draws[, , j], type = "l", lty = 1, col = hcl.colors(dim(x$draws)[[2L]]), ylab = dimnames(x$draws)[[3L]][[j]], xlab = "")
  }
  invisible(x)
}

# ---- rows that the analyst brings ----

means <- list(bernoulli = function(eta) 1 / (1 + exp(-eta)), gaussian = identity, poisson = exp)

posterior_epred <- function(object, ...) UseMethod("posterior_epred")
posterior_epred.tacit_fit <- function(object, newdata, ...) {
  if (missing(newdata) || is.null(newdata)) refuse("the records are not kept: give newdata", field = "newdata")
  mean <- means[[object$family]]
  if (is.null(mean)) refuse(sprintf("there are no predictions for family %s", object$family), field = "family")
  if (is.null(object$schema)) refuse("give the schema to tacit_read(): the directory of this fit does not hold it", field = "schema")
  rows <- check(.Call(C_features, object$formula, object$family, object$schema, source_of(as.data.frame(newdata), object$schema)))
  if (rows$n_moved > 0) warning(rows$n_moved, " values of newdata are outside the schema's bounds, and were moved to them", call. = FALSE)
  mean(as.matrix(object)[, rows$labels, drop = FALSE] %*% rows$features)
}

describe <- function(draws) {
  quantiles <- apply(draws, 2L, quantile, c(0.05, 0.95), names = FALSE)
  cbind(Estimate = colMeans(draws), Est.Error = apply(draws, 2L, sd), Q5 = quantiles[1L, ], Q95 = quantiles[2L, ])
}

fitted.tacit_fit <- function(object, newdata = NULL, ...) describe(posterior_epred.tacit_fit(object, newdata))

predict.tacit_fit <- function(object, newdata = NULL, ...) {
  expected <- posterior_epred.tacit_fit(object, newdata)
  n <- length(expected)
  drawn <- switch(object$family,
    bernoulli = stats::rbinom(n, 1L, expected),
    poisson = stats::rpois(n, expected),
    gaussian = {
      if (!"sigma" %in% dimnames(object$draws)[[3L]]) refuse("the residual sd was given and is not kept: use fitted()", field = "newdata")
      stats::rnorm(n, expected, as.matrix(object)[, "sigma"])
    })
  describe(matrix(drawn, nrow(expected)))
}

conditional_effects <- function(x, ...) UseMethod("conditional_effects")
conditional_effects.tacit_fit <- function(x, effects = NULL, resolution = 100, ...) {
  if (is.null(x$schema)) refuse("give the schema to tacit_read(): the directory of this fit does not hold it", field = "schema")
  columns <- check(.Call(C_columns, x$formula, x$family, x$schema))
  names(columns) <- vapply(columns, `[[`, "", "name")
  if (is.null(effects)) effects <- names(columns)
  unknown <- setdiff(effects, names(columns))
  if (length(unknown)) refuse(sprintf("'%s' is no column of the formula", unknown[[1L]]), field = "effects")
  middle <- lapply(columns, function(column) {
    switch(column$type + 1L, (column$lower + column$upper) / 2, round((column$lower + column$upper) / 2), column$levels[[1L]], 0)
  })
  found <- lapply(columns[effects], function(column) {
    values <- switch(column$type + 1L, seq(column$lower, column$upper, length.out = resolution),
                     unique(round(seq(column$lower, column$upper, length.out = resolution))), column$levels, c(0, 1))
    rows <- as.data.frame(c(middle[names(middle) != column$name], stats::setNames(list(values), column$name)), optional = TRUE)
    table <- describe(posterior_epred.tacit_fit(x, rows))
    cbind(rows, estimate__ = table[, "Estimate"], se__ = table[, "Est.Error"], lower__ = table[, "Q5"], upper__ = table[, "Q95"])
  })
  structure(found, class = "tacit_effects")
}

print.tacit_effects <- function(x, ...) {
  for (name in names(x)) {
    cat(name, ":\n", sep = "")
    print(head(x[[name]][c(name, "estimate__", "lower__", "upper__")], 10L), row.names = FALSE)
  }
  invisible(x)
}

plot.tacit_effects <- function(x, ...) {
  for (name in names(x)) {
    table <- x[[name]]
    at <- if (is.numeric(table[[name]])) table[[name]] else seq_len(nrow(table))
    limits <- range(table$lower__, table$upper__)
    graphics::plot(at, table$estimate__, type = "n", ylim = limits, xlab = name, ylab = "expected response",
                   xaxt = if (is.numeric(table[[name]])) "s" else "n")
    if (is.numeric(table[[name]])) {
      polygon(c(at, rev(at)), c(table$lower__, rev(table$upper__)), col = adjustcolor("steelblue", 0.3), border = NA)
      lines(at, table$estimate__, lwd = 2)
    } else {
      axis(1, at, table[[name]])
      segments(at, table$lower__, at, table$upper__)
      points(at, table$estimate__, pch = 19)
    }
  }
  invisible(x)
}

# ---- refused, with the reason ----

nobs.tacit_fit <- function(object, ...) refuse("a fit does not keep the number of records: under relation add-remove it is private", field = "nobs")
pp_check.tacit_fit <- function(object, ...) refuse("pp_check() compares with records, which are not kept: it would release them", field = "pp_check")
loo.tacit_fit <- function(x, ...) refuse("loo() needs the likelihood of each record: records are not kept, and it would release them", field = "loo")
