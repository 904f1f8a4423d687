# posterior's table of a fit's draws is ours, to the digits that are printed.
library(tacit)
if (requireNamespace("posterior", quietly = TRUE)) {
  n <- 2000
  x <- round(6 * ((seq_len(n) * 7919) %% 1009) / 1009 - 3, 3)
  d <- data.frame(x, y = as.integer((seq_len(n) * 104729) %% 10007 / 10007 < 1 / (1 + exp(-0.3 - 0.8 * x))))
  schema <- list(columns = list(x = list(type = "numeric", lower = -3, upper = 3), y = list(type = "binary")))
  fit <- tacit(y ~ x, d, schema, family = binomial(), epsilon = 2, delta = 1e-6)
  theirs <- as.data.frame(posterior::summarise_draws(posterior::as_draws_array(fit), "mean", "sd", "mcse_mean",
                                                     ~posterior::quantile2(.x, c(0.05, 0.5, 0.95)), "rhat",
                                                     "ess_bulk", "ess_tail"))
  ours <- fit$summaries
  stopifnot(identical(theirs$variable, rownames(ours)))
  digits <- c(mean = 1e-10, sd = 1e-10, mcse = 1e-6, q5 = 1e-10, q50 = 1e-10, q95 = 1e-10, Rhat = 5e-4, Bulk_ESS = 0.5, Tail_ESS = 0.5)
  off <- abs(as.matrix(theirs[-1L]) - ours[, names(digits)])
  cat("posterior", format(utils::packageVersion("posterior")), "R", format(getRversion()), "\n")
  print(apply(off, 2L, max))
  stopifnot(all(t(off) <= digits))
  frame <- posterior::as_draws_df(fit)
  stopifnot(nrow(frame) == prod(dim(fit$draws)[1:2]), isTRUE(all.equal(frame$x, c(fit$draws[, , "x"]))))
}
