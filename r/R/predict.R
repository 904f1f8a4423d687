# What follows from a fit for rows that the analyst brings, and functions of its parameters.

check_predictable <- function(object) {
  if (is.null(object$program) && !isTRUE(object$family %in% c("bernoulli", "gaussian", "poisson", "categorical"))) {
    refuse(sprintf("there are no predictions for family %s: they are made of the formula of a regression or of a program that was kept; tacit_contrast() takes any", object$family),
           field = "family")
  }
  need_intervals(object)
}

# What the library needs of a fit; `ids`: of these draws alone, all chains one after another.
held_parts <- function(object, ids = NULL) {
  draws <- object$draws
  if (!is.null(ids)) draws <- array(as.matrix(object)[ids, ], c(length(ids), 1L, dim(draws)[[3L]]), list(NULL, NULL, dimnames(draws)[[3L]]))
  list(draws, object$formula, object$family, object$schema, object$program, object$stan_names)
}

# Which draws: NULL for all; ndraws of them spread evenly over all chains.
chosen_draws <- function(object, ndraws, draw_ids) {
  all <- ndraws.tacit_fit(object)
  if (!is.null(ndraws) && !is.null(draw_ids)) refuse("ndraws or draw_ids: one of them", field = "ndraws")
  if (!is.null(ndraws)) return(as.integer(round(seq(1, all, length.out = whole(ndraws, "ndraws", 1, all)))))
  if (is.null(draw_ids)) return(NULL)
  if (!is.numeric(draw_ids) || !length(draw_ids) || anyNA(draw_ids) || any(draw_ids < 1 | draw_ids > all | draw_ids != floor(draw_ids))) {
    refuse(sprintf("draw_ids: whole numbers from 1 to %d", all), field = "draw_ids")
  }
  as.integer(draw_ids)
}

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
predictions <- function(object, newdata, kind, seed = 1, ids = NULL) {
  rows <- rows_for(object, newdata, "newdata")
  if (kind == 2L && is.null(object$program) && object$family == "gaussian" && !"sigma" %in% dimnames(object$draws)[[3L]] &&
      !isTRUE(object$known_sd > 0)) {
    refuse("the residual sd was given and is not kept: use fitted()", field = "newdata")
  }
  found <- check(.Call(C_predict, held_parts(object, ids), known_sd_of(object), rows, kind, seed))
  warn_moved(found$n_moved, "newdata")
  if (nzchar(found$note)) warning(trimws(found$note), call. = FALSE)
  if (length(found$outcomes) == 1L) return(matrix(found$draws, dim(found$draws)[[1L]]))
  dimnames(found$draws) <- list(NULL, NULL, found$outcomes)
  found$draws
}

posterior_epred <- function(object, ...) UseMethod("posterior_epred")
posterior_epred.tacit_fit <- function(object, newdata = NULL, ndraws = NULL, draw_ids = NULL, ...) {
  no_more("posterior_epred", ...)
  predictions(object, newdata, 0L, ids = chosen_draws(object, ndraws, draw_ids))
}

posterior_linpred <- function(object, transform = FALSE, ...) UseMethod("posterior_linpred")
posterior_linpred.tacit_fit <- function(object, transform = FALSE, newdata = NULL, ndraws = NULL, draw_ids = NULL, ...) {
  no_more("posterior_linpred", ...)
  predictions(object, newdata, if (is_yes(transform, "transform")) 0L else 1L, ids = chosen_draws(object, ndraws, draw_ids))
}

any_seed <- function() sample.int(.Machine$integer.max, 1L)

# The class of each draw, where the response is one of classes: as whole numbers with levels, as brms gives them.
posterior_predict <- function(object, ...) UseMethod("posterior_predict")
posterior_predict.tacit_fit <- function(object, newdata = NULL, ndraws = NULL, draw_ids = NULL, seed = any_seed(), ...) {
  no_more("posterior_predict", ...)
  classes_of(object, predictions(object, newdata, 2L, whole(seed, "seed", 0, 2^53), chosen_draws(object, ndraws, draw_ids)))
}

# A program of one's own may have several outcomes beside each other, which are no classes of one.
is_of_classes <- function(object, draws) length(dim(draws)) == 3L && !identical(object$family, "program") && all(rowSums(draws, dims = 2L) == 1)

classes_of <- function(object, draws) {
  if (!is_of_classes(object, draws)) return(draws)
  of <- dim(draws)
  structure(array(as.integer(matrix(draws, ncol = of[[3L]]) %*% seq_len(of[[3L]])), of[1:2]), levels = dimnames(draws)[[3L]])
}

fitted.tacit_fit <- function(object, newdata = NULL, scale = c("response", "linear"), summary = TRUE, probs = c(0.05, 0.95), ndraws = NULL,
                             draw_ids = NULL, ...) {
  no_more("fitted", ...)
  if (!is.character(scale) || !scale[[1L]] %in% c("response", "linear")) refuse("scale: \"response\" or \"linear\"", field = "scale")
  of_quantiles(probs)
  draws <- predictions(object, newdata, if (scale[[1L]] == "linear") 1L else 0L, ids = chosen_draws(object, ndraws, draw_ids))
  if (is_yes(summary, "summary")) describe(draws, probs) else draws
}

# Of classes the share of each among responses drawn anew; else responses described.
predict.tacit_fit <- function(object, newdata = NULL, seed = any_seed(), summary = TRUE, probs = c(0.05, 0.95), ndraws = NULL, draw_ids = NULL, ...) {
  no_more("predict", ...)
  of_quantiles(probs)
  draws <- predictions(object, newdata, 2L, whole(seed, "seed", 0, 2^53), chosen_draws(object, ndraws, draw_ids))
  if (!is_yes(summary, "summary")) return(classes_of(object, draws))
  if (!is_of_classes(object, draws)) return(describe(draws, probs))
  shares <- apply(draws, 3L, colMeans, simplify = FALSE)
  matrix(unlist(shares), ncol = length(shares), dimnames = list(NULL, sprintf("P(Y = %s)", names(shares))))
}

contrast_draws <- function(fit, expressions) {
  need_intervals(fit)
  matrix(vapply(expressions, function(text) check(.Call(C_contrast, held_parts(fit), text)), numeric(prod(dim(fit$draws)[1:2]))), ncol = length(expressions))
}

tacit_contrast <- function(fit, expressions, exponentiate = FALSE, probs = c(0.05, 0.95)) {
  if (!inherits(fit, "tacit_fit")) refuse("a fit, as tacit() returns it", field = "fit")
  if (!is.character(expressions) || !length(expressions) || anyNA(expressions)) refuse("expressions such as \"age * 10\"", field = "expressions")
  contrasts_of(contrast_draws(fit, expressions), if (isTRUE(exponentiate)) paste0("exp(", expressions, ")") else expressions, isTRUE(exponentiate),
               of_quantiles(probs))
}

contrasts_of <- function(draws, names, is_ratio = FALSE, probs = c(0.05, 0.95)) {
  out <- cbind(describe(if (is_ratio) exp(draws) else draws, probs), p_above = colMeans(draws > 0))
  rownames(out) <- names
  out
}

# What changing a column does to the expected response, averaged over rows that the analyst brings.
tacit_average_effects <- function(fit, effects, population, probs = c(0.05, 0.95)) {
  if (!inherits(fit, "tacit_fit")) refuse("a fit, as tacit() returns it", field = "fit")
  if (!is.character(effects) || !length(effects) || anyNA(effects)) refuse("effects: names of columns of the formula", field = "effects")
  rows <- rows_for(fit, population, "population")
  found <- check(.Call(C_effects, held_parts(fit), known_sd_of(fit), rows, effects))
  warn_moved(found$n_moved, "population")
  contrasts_of(do.call(cbind, found$draws), found$labels, probs = of_quantiles(probs))
}
