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

# Density of all chains together beside the chains; at most five parameters a page. Everything else: as.array(fit) to bayesplot.
plot.tacit_fit <- function(x, pars = NULL, ...) {
  labels <- dimnames(x$draws)[[3L]]
  if (is.null(pars)) pars <- labels
  unknown <- setdiff(pars, labels)
  if (length(unknown)) refuse(sprintf("the fit has no parameter '%s'", unknown[[1L]]), field = "pars")
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

# ---- rows that the analyst brings ----

check_predictable <- function(object) {
  if (is.null(object$program) && !isTRUE(object$family %in% c("bernoulli", "gaussian", "poisson", "categorical"))) {
    refuse(sprintf("there are no predictions for family %s: they are made of the formula of a regression or of a program that was kept; tacit_contrast() takes any", object$family),
           field = "family")
  }
}

# What the library needs of a fit.
held_parts <- function(object) list(object$draws, object$formula, object$family, object$schema, object$program)

# Rows and what is predicted from them; refused where there are no predictions.
rows_for <- function(object, newdata, field) {
  if (is.null(newdata)) refuse(sprintf("the records are not kept: give %s", field), field = field)
  if (!is.data.frame(newdata) && !is.list(newdata)) refuse(sprintf("%s: a data frame", field), field = field)
  check_predictable(object)
  if (is.null(object$schema)) refuse("give the schema to tacit_read(): the directory of this fit does not hold it", field = "schema")
  source_of(as.data.frame(newdata), object$schema)
}

known_sd_of <- function(object) if (is.null(object$known_sd)) 0 else object$known_sd

warn_moved <- function(n, field) {
  if (n > 0) warning(n, " values of ", field, " are outside the schema's bounds, and were moved to them", call. = FALSE)
}

# As the library computes them: draws by row, and by class where the family has such.
predictions <- function(object, newdata, kind, seed = 1) {
  rows <- rows_for(object, newdata, "newdata")
  if (kind == 2L && is.null(object$program) && object$family == "gaussian" && !"sigma" %in% dimnames(object$draws)[[3L]] && !isTRUE(object$known_sd > 0)) {
    refuse("the residual sd was given and is not kept: use fitted()", field = "newdata")
  }
  found <- check(.Call(C_predict, held_parts(object), known_sd_of(object), rows, kind, seed))
  warn_moved(found$n_moved, "newdata")
  if (nzchar(found$note)) warning(trimws(found$note), call. = FALSE)
  if (length(found$outcomes) == 1L) return(matrix(found$draws, dim(found$draws)[[1L]]))
  dimnames(found$draws) <- list(NULL, NULL, found$outcomes)
  found$draws
}

posterior_epred <- function(object, ...) UseMethod("posterior_epred")
posterior_epred.tacit_fit <- function(object, newdata = NULL, ...) predictions(object, newdata, 0L)

describe <- function(draws) {
  if (length(dim(draws)) == 3L) return(sapply(dimnames(draws)[[3L]], function(class) describe(draws[, , class, drop = TRUE]), simplify = "array"))
  draws <- as.matrix(draws)
  quantiles <- apply(draws, 2L, quantile, c(0.05, 0.95), names = FALSE)
  cbind(Estimate = colMeans(draws), Est.Error = apply(draws, 2L, sd), Q5 = quantiles[1L, ], Q95 = quantiles[2L, ])
}

fitted.tacit_fit <- function(object, newdata = NULL, ...) describe(predictions(object, newdata, 0L))
predict.tacit_fit <- function(object, newdata = NULL, seed = sample.int(.Machine$integer.max, 1L), ...) {
  describe(predictions(object, newdata, 2L, whole(seed, "seed", 0, 2^53)))
}

tacit_contrast <- function(fit, expressions, exponentiate = FALSE) {
  if (!inherits(fit, "tacit_fit")) refuse("a fit, as tacit() returns it", field = "fit")
  if (!is.character(expressions) || !length(expressions) || anyNA(expressions)) refuse("expressions such as \"age * 10\"", field = "expressions")
  draws <- vapply(expressions, function(text) check(.Call(C_contrast, fit[c("draws", "formula", "family")], text)), numeric(prod(dim(fit$draws)[1:2])))
  contrasts_of(draws, if (isTRUE(exponentiate)) paste0("exp(", expressions, ")") else expressions, isTRUE(exponentiate))
}

contrasts_of <- function(draws, names, is_ratio = FALSE) {
  out <- cbind(describe(if (is_ratio) exp(draws) else draws), p_above = colMeans(draws > 0))
  rownames(out) <- names
  out
}

# What changing a column does to the expected response, averaged over rows that the analyst brings.
tacit_average_effects <- function(fit, effects, population) {
  if (!inherits(fit, "tacit_fit")) refuse("a fit, as tacit() returns it", field = "fit")
  if (!is.character(effects) || !length(effects) || anyNA(effects)) refuse("effects: names of columns of the formula", field = "effects")
  rows <- rows_for(fit, population, "population")
  found <- check(.Call(C_effects, held_parts(fit), known_sd_of(fit), rows, effects))
  warn_moved(found$n_moved, "population")
  contrasts_of(do.call(cbind, found$draws), found$labels)
}

conditional_effects <- function(x, ...) UseMethod("conditional_effects")
conditional_effects.tacit_fit <- function(x, effects = NULL, resolution = 100, ...) {
  if (is.null(x$schema)) refuse("give the schema to tacit_read(): the directory of this fit does not hold it", field = "schema")
  check_predictable(x)
  resolution <- whole(resolution, "resolution", 2, 1e5)
  columns <- check(.Call(C_columns, held_parts(x)))
  names(columns) <- vapply(columns, `[[`, "", "name")
  if (is.null(effects)) effects <- names(columns)
  if (!is.character(effects) || !length(effects) || anyNA(effects)) refuse("effects: names of columns of the formula or the program", field = "effects")
  unknown <- setdiff(effects, names(columns))
  if (length(unknown)) refuse(sprintf("'%s' is no column that predictions look at", unknown[[1L]]), field = "effects")
  middle <- lapply(columns, function(column) {
    switch(column$type + 1L, (column$lower + column$upper) / 2, round((column$lower + column$upper) / 2), column$levels[[1L]], 0)
  })
  found <- lapply(columns[effects], function(column) {
    values <- switch(column$type + 1L, seq(column$lower, column$upper, length.out = resolution),
                     unique(round(seq(column$lower, column$upper, length.out = resolution))), column$levels, c(0, 1))
    rows <- as.data.frame(c(middle[names(middle) != column$name], stats::setNames(list(values), column$name)), optional = TRUE)
    draws <- predictions(x, rows, 0L)
    classes <- dimnames(draws)[[3L]]
    of <- function(draws, ...) {
      table <- describe(draws)
      cbind(rows, ..., estimate__ = table[, "Estimate"], se__ = table[, "Est.Error"], lower__ = table[, "Q5"], upper__ = table[, "Q95"])
    }
    if (is.null(classes)) return(of(draws))
    do.call(rbind, lapply(classes, function(class) of(draws[, , class], cats__ = class)))
  })
  structure(found, class = "tacit_effects")
}

print.tacit_effects <- function(x, ...) {
  for (name in names(x)) {
    cat(name, ":\n", sep = "")
    print(head(x[[name]][intersect(c(name, "cats__", "estimate__", "lower__", "upper__"), names(x[[name]]))], 10L), row.names = FALSE)
  }
  invisible(x)
}

plot.tacit_effects <- function(x, ...) {
  for (name in names(x)) {
    table <- x[[name]]
    parts <- if (is.null(table$cats__)) list(table) else split(table, factor(table$cats__, unique(table$cats__)))
    plot_effect(name, parts)
  }
  invisible(x)
}

# One column's effect; a part for each class of the response.
plot_effect <- function(name, parts) {
  values <- parts[[1L]][[name]]
  at <- if (is.numeric(values)) values else seq_along(values)
  colours <- if (length(parts) == 1L) "steelblue" else hcl.colors(length(parts), "Dark 3")
  limits <- range(vapply(parts, function(part) range(part$lower__, part$upper__), c(0, 0)))
  graphics::plot(range(at), limits, type = "n", xlab = name, ylab = "expected response", xaxt = if (is.numeric(values)) "s" else "n",
                 xlim = if (is.numeric(values)) range(at) else range(at) + c(-0.5, 0.5))
  if (!is.numeric(values)) axis(1, at, values)
  for (k in seq_along(parts)) {
    part <- parts[[k]]
    if (is.numeric(values)) {
      polygon(c(at, rev(at)), c(part$lower__, rev(part$upper__)), col = adjustcolor(colours[[k]], 0.3), border = NA)
      lines(at, part$estimate__, lwd = 2, col = colours[[k]])
    } else {
      segments(at, part$lower__, at, part$upper__, col = colours[[k]])
      points(at, part$estimate__, pch = 19, col = colours[[k]])
    }
  }
  if (length(parts) > 1L) legend("topright", names(parts), col = colours, lwd = 2, bty = "n")
}

# ---- refused, with the reason ----

nobs.tacit_fit <- function(object, ...) refuse("a fit does not keep the number of records: under relation add-remove it is private", field = "nobs")
pp_check.tacit_fit <- function(object, ...) refuse("pp_check() compares with records, which are not kept: it would release them", field = "pp_check")
loo.tacit_fit <- function(x, ...) refuse("loo() needs the likelihood of each record: records are not kept, and it would release them", field = "loo")
