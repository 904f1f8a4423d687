# Whatever is passed: a result, or a tacit_error that says what is wrong; never a crash, and no error of R's own.
library(tacit)
options(warn = -1)
setwd(dirname(tempfile("")))
dir.create(where <- tempfile("misuse"))
setwd(where)
n <- 300
x <- round(6 * ((seq_len(n) * 7919) %% 1009) / 1009 - 3, 3)
d <- data.frame(x, s = ifelse((seq_len(n) * 31) %% 7 < 3, "b", "a"),
                y = as.integer((seq_len(n) * 104729) %% 10007 / 10007 < 1 / (1 + exp(-0.3 - 0.8 * x))))
schema <- list(columns = list(x = list(type = "numeric", lower = -3, upper = 3), s = list(type = "categorical", levels = c("a", "b")),
                              y = list(type = "binary")))
of_program <- list(columns = schema$columns[c("x", "y")])
writeLines(c("data { int<lower=0> N; vector[N] x; array[N] int<lower=0, upper=1> y; }", "parameters { real a; real b; }",
             "model { a ~ normal(0, 2); b ~ normal(0, 2); y ~ bernoulli_logit(a + b * x); }"), "own.stan")
few <- list(draws = 4, warmup = 4, chains = 2)
budget <- list(epsilon = 50, delta = 1e-6, accept_poor = TRUE, seed_not_private = 1)
kept <- do.call(tacit, c(list(y ~ x + s, d, schema, family = binomial(), out = "fit"), few, budget))
do.call(tacit, c(list(y ~ x + s, d, schema, family = binomial(), out = "fit2"), few, budget))
own <- tacit("own.stan", d, of_program, method = "hmc", exposed = TRUE, draws = 4, warmup = 4, chains = 2)
tacit_ledger_create("l.ledger", "d", 1e-3, 1e-6)
broken <- transform(d, x = c(NA, x[-1]))
law <- list(records = "gaussian", mean = "normal(0, 1)", sd = 0.5)
mean_of <- "statistic: mean\nvalue: 0.31\nlower: -1\nupper: 1\nmechanism: laplace\nepsilon: 1\nn: 20\n"

calls <- list(
  tacit = list(tacit, c(list(formula = y ~ x + s, data = broken, schema = schema, family = binomial(), out = NULL, ledger = NULL, prior = NULL,
                             exposed = FALSE, method = NULL), few, budget)),
  tacit = list(tacit, c(list(formula = "own.stan", data = broken, schema = of_program, set = NULL), few, budget)),
  tacit_plan = list(tacit_plan, list(formula = y ~ x + s, schema = schema, n = 300, family = binomial(), epsilon = 2, delta = 1e-6,
                                     method = "noise-aware")),
  tacit_plan = list(tacit_plan, list(formula = "own.stan", schema = of_program, n = 300, epsilon = 2, delta = 1e-6)),
  tacit_epsilon_for = list(tacit_epsilon_for, list(width = 1.3, formula = y ~ x + s, schema = schema, n = 300, family = binomial(), delta = 1e-6,
                                                   out = NULL)),
  tacit_release = list(tacit_release, list(formula = NULL, data = broken, schema = schema, statistic = "clamped-mean", column = "x",
                                           mechanism = "laplace", epsilon = 1)),
  tacit_infer = list(tacit_infer, c(list(model = law, statistic = mean_of, n = NULL, seed = 1), few)),
  tacit_account = list(tacit_account, list(events = "gaussian:sigma=20", delta = 1e-6, counts = 10, relation = "substitute", method = "auto")),
  tacit_read = list(tacit_read, list(path = "fit", schema = NULL)),
  tacit_refit = list(tacit_refit, c(list(path = "fit", prior = NULL, seed = NULL, check = NULL, out = NULL), few)),
  tacit_combine = list(tacit_combine, c(list(paths = c("fit", "fit2"), disjoint = TRUE, exchangeable = TRUE, between_sd = 1, seed = NULL), few)),
  tacit_check = list(tacit_check, list(path = "fit", data = broken, epsilon = 2, delta = 1e-6, by = NULL, ledger = NULL, out = NULL,
                                       seed_not_private = 1)),
  tacit_synthesize = list(tacit_synthesize, list(path = "fit", rows = 20, sets = 1, seed = 1, out = NULL)),
  tacit_schema_draft = list(tacit_schema_draft, list(data = d[1:2, ], out = NULL)),
  tacit_schema_check = list(tacit_schema_check, list(schema = schema, data = d)),
  tacit_ledger = list(tacit_ledger, list(path = "l.ledger")),
  tacit_statement = list(tacit_statement, list(path = "fit", ledger = NULL, out = NULL)),
  tacit_model = list(tacit_model, list(formula = y ~ x + s, family = binomial(), schema = schema)),
  tacit_average_effects = list(tacit_average_effects, list(fit = kept, effects = "x", population = d[1:2, ])),
  tacit_contrast = list(tacit_contrast, list(fit = kept, expressions = "x - 1")),
  posterior_epred = list(function(newdata) posterior_epred(kept, newdata), list(newdata = d[1:2, ])),
  predict = list(function(newdata, seed) predict(kept, newdata, seed), list(newdata = d[1:2, ], seed = 1)),
  posterior_predict = list(function(newdata, ndraws, draw_ids, seed) posterior_predict(kept, newdata, ndraws, draw_ids, seed),
                           list(newdata = d[1:2, ], ndraws = NULL, draw_ids = 1:2, seed = 1)),
  posterior_linpred = list(function(transform, newdata) posterior_linpred(kept, transform, newdata), list(transform = FALSE, newdata = d[1:2, ])),
  posterior_interval = list(function(prob, pars) posterior_interval(kept, prob, pars), list(prob = 0.9, pars = "x")),
  summary = list(function(prob) summary(kept, prob), list(prob = 0.5)),
  fixef = list(function(summary, probs) fixef(kept, summary, probs), list(summary = TRUE, probs = c(0.1, 0.9))),
  hypothesis = list(function(hypothesis, prob) tacit::hypothesis(kept, hypothesis, prob), list(hypothesis = "x > 0", prob = 0.9)),
  update = list(function(prior, draws) update(kept, prior, draws = draws), list(prior = NULL, draws = 4)),
  conditional_effects = list(function(effects, resolution, conditions, prob) conditional_effects(kept, effects, resolution, conditions, prob),
                             list(effects = "x:s", resolution = 5, conditions = data.frame(s = "a"), prob = 0.9)))
odd <- list("", NA, NA_character_, NaN, Inf, -1, 0, 1e300, 2^53 + 2, "a\nb", strrep("x", 5000), character(), numeric(), list(), list(1),
            list(a = NULL), c("a", "b"), c(1, 2), 3i, raw(2), TRUE,
            sum, quote(a + b), y ~ x, globalenv(), factor("a"), Sys.Date(), d, d[0, ], d[0], matrix(1, 2, 2), as.name("a"), d["y"],
            data.frame(x = I(list(1, 2))), list(x = 1, x = 2), NULL)
wrong <- character()
look <- function(what, expression) {
  found <- tryCatch({ expression; NULL }, error = identity)
  if (!is.null(found) && (!inherits(found, "tacit_error") || !isTRUE(nchar(conditionMessage(found), "bytes") > 8L)))
    wrong <<- c(wrong, paste0(what, ": ", conditionMessage(found)))
}
for (i in seq_along(calls)) {
  right <- calls[[i]][[2L]]
  for (key in names(right)) {
    for (value in odd) {
      if (is.null(value) && key %in% c("draws", "warmup", "chains", "resolution", "seed")) next # NULL: not said
      given <- right
      given[key] <- list(value)
      look(sprintf("%s(%s = %s)", names(calls)[[i]], key, substr(paste(deparse(value), collapse = ""), 1, 40)),
           do.call(calls[[i]][[1L]], given, quote = TRUE))
    }
  }
}
# Every method of what a fit of a formula, of a program and of one read again gives.
for (fit in list(kept, own, tacit_read("fit"))) {
  for (method in list(print, summary, coef, vcov, fixef, as.array, as.data.frame, as.matrix, nobs, fitted, conditional_effects,
                      function(f) predict(f, d[1:3, ]),
                      function(f) posterior_epred(f, d[1:3, ]), function(f) tacit_contrast(f, "1 + 1"), function(f) unserialize(serialize(f, NULL)),
                      function(f) { pdf(NULL); on.exit(dev.off()); plot(f) })) {
    look(paste(fit$formula, deparse(method)[[1L]]), utils::capture.output(method(fit)))
  }
}
if (length(wrong)) stop(length(wrong), " calls end in an error that is not told:\n", paste(utils::head(wrong, 60), collapse = "\n"))
stopifnot(nrow(tacit_ledger("l.ledger")$spends) == 0L)
