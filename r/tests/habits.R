# Habits of brms: every argument is honoured or refused; what a fit released comes with it; flags are shown.
library(tacit)
n <- 2000
u <- function(k) ((seq_len(n) * k) %% 10007) / 10007
x <- round(6 * ((seq_len(n) * 7919) %% 1009) / 1009 - 3, 3)
s <- ifelse((seq_len(n) * 31) %% 7 < 3, "b", "a")
d <- data.frame(x, s, y = as.integer(u(104729) < 1 / (1 + exp(-(0.3 + 0.8 * x - 0.6 * (s == "b"))))),
                z = c("lo", "mid", "hi")[1 + (x + 3 * u(5003) > 1) + (x + 3 * u(5003) > 3)])
schema <- list(columns = list(x = list(type = "numeric", lower = -3, upper = 3), s = list(type = "categorical", levels = c("a", "b")),
                              y = list(type = "binary"), z = list(type = "categorical", levels = c("lo", "mid", "hi"))))
refused <- function(expression) tryCatch(expression, tacit_error = identity)
says <- function(expression, text) {
  found <- refused(expression)
  if (!inherits(found, "tacit_error") || !grepl(text, conditionMessage(found), fixed = TRUE))
    stop("expected '", text, "'; ", if (inherits(found, "condition")) conditionMessage(found))
  TRUE
}
fit <- tacit(y ~ x + s, d, schema, family = binomial(), epsilon = 2, delta = 1e-6, seed_not_private = 1)
draws <- as.matrix(fit)
new <- data.frame(x = c(-1.5, 2, 0), s = c("b", "a", "a"))

# Probabilities of intervals, and which draws.
q <- apply(draws, 2, quantile, c(0.025, 0.975), names = FALSE)
same <- function(a, b) isTRUE(all.equal(a, b, check.attributes = FALSE))
stopifnot(same(as.matrix(summary(fit, prob = 0.95)[, 3:4]), t(q)), identical(names(summary(fit, prob = 0.95))[3:4], c("l-95% CI", "u-95% CI")),
          same(fixef(fit, probs = c(0.025, 0.975))[, 3:4], t(q)), identical(colnames(fixef(fit, probs = c(0.025, 0.975)))[3:4], c("Q2.5", "Q97.5")),
          same(fixef(fit, summary = FALSE), draws), same(posterior_interval(fit, prob = 0.95), t(q)),
          same(as.matrix(summary(fit)[, 3:4]), fit$summaries[, c("q5", "q95")]),
          same(tacit_contrast(fit, "x", probs = c(0.025, 0.975))[, 3:4], q[, "x"]))
epred <- posterior_epred(fit, new)
chosen <- c(3L, 3999L)
stopifnot(identical(posterior_epred(fit, new, draw_ids = chosen), epred[chosen, ]), nrow(posterior_epred(fit, new, ndraws = 100)) == 100L,
          same(posterior_linpred(fit, newdata = new), log(epred / (1 - epred))), identical(posterior_linpred(fit, TRUE, newdata = new), epred),
          same(fitted(fit, new, scale = "linear", probs = c(0.1, 0.9))[, 4], apply(log(epred / (1 - epred)), 2, quantile, 0.9)),
          identical(fitted(fit, new, summary = FALSE), epred))
drawn <- posterior_predict(fit, new, seed = 4)
# 5.2 sds: < 1e-6
stopifnot(all(drawn %in% 0:1), identical(dim(drawn), dim(epred)), max(abs(colMeans(drawn) - colMeans(epred))) < 5.2 * 0.5 / sqrt(nrow(epred)),
          identical(predict(fit, new, seed = 4, summary = FALSE), drawn), identical(posterior_predict(fit, new, seed = 4), drawn))
effect <- conditional_effects(fit, "x", conditions = data.frame(s = "b"), prob = 0.5, resolution = 3)$x
at <- posterior_epred(fit, data.frame(x = c(-3, 0, 3), s = "b"))
stopifnot(same(effect$estimate__, colMeans(at)), same(effect$upper__, apply(at, 2, quantile, 0.75)))
two <- conditional_effects(fit, "s:x", conditions = data.frame(s = c("a", "b"))[0:2, , drop = FALSE], resolution = 3)[["s:x"]]
stopifnot(nrow(two) == 12L, setequal(two$x, c(-3, 0, 3)), same(two$estimate__[two$s == "b" & two$cond__ == 1], colMeans(at)))
stopifnot(same(as.matrix(summary(fit, robust = TRUE)[, 1:2]), cbind(apply(draws, 2, median), apply(draws, 2, mad))))
says(fixef(fit, prob = 0.95), "probs: two quantiles")
says(coef(fit, summary = FALSE), "no argument 'summary'")
says(predict(fit, new, type = "response"), "fitted()")
says(posterior_epred(fit, new, re_formula = NA), "re_formula")
says(posterior_epred(fit, new, ndraws = 5000), "ndraws")
says(conditional_effects(fit, "x", method = "posterior_predict"), "no argument 'method'")
says(conditional_effects(fit, "x:w"), "'w' is no column")
says(conditional_effects(fit, "x", conditions = data.frame(w = 1)), "'w' is no column")
says(plot(fit, pars = "w"), "no parameter 'w'")

# What other packages ask for.
above <- hypothesis(fit, c("x > 0.7", "x = 2 * sb", "sb < 0"))
stopifnot(same(above$Post.Prob, c(mean(draws[, "x"] > 0.7), NA, mean(draws[, "sb"] < 0))),
          same(above$Estimate[[2L]], mean(draws[, "x"] - 2 * draws[, "sb"])),
          family(fit)$link == "logit", identical(deparse(formula(fit)), "y ~ x + s"), nrow(prior_summary(fit)) == 3L,
          all(prior_summary(fit)$prior_sd > 0))
says(hypothesis(fit, "x"), "two sides")
stopifnot(same(confint(fit), t(q)), same(confint(fit, "x", level = 0.9), t(quantile(draws[, "x"], c(0.05, 0.95)))), same(posterior_summary(fit), fixef(fit)),
          grepl("About the fit \"y ~ x + s\"", tacit_statement(fit), fixed = TRUE))
for (f in list(logLik, AIC, BIC, deviance, anova, model.matrix)) says(f(fit), "not kept")
says(hypothesis(fit, "x > 0 > 1"), "two sides")
stopifnot(same(tacit:::sides_of("`a > b` - I(x > 2) < exp(1)")[2:4], c("`a > b` - I(x > 2) ", "<", " exp(1)")),
          same(tacit:::tidy.tacit_fit(fit, exponentiate = TRUE)[2, c(2, 4, 5)], exp(c(mean(draws[, "x"]), quantile(draws[, "x"], c(0.05, 0.95))))))

# Dates, durations, matrices: the same draws as of the numbers that they stand for.
day <- (seq_len(n) * 31) %% 100
dated <- list(columns = list(t = list(type = "numeric", lower = 0, upper = 100, since = "2020-01-01", missing = 7), y = list(type = "binary")))
plain <- list(columns = list(t = list(type = "numeric", lower = 0, upper = 100, missing = 7), y = list(type = "binary")))
digest <- function(t, schema, y = d$y) tacit(y ~ t, data.frame(t = I(t), y = y), schema, family = binomial(), epsilon = 2, delta = 1e-6,
                                             accept_poor = TRUE, draws = 20, warmup = 50, seed_not_private = 3)$draws
there <- replace(day, 5, NA)
expected <- digest(there, plain)
clock <- as.POSIXct("2020-01-01", tz = "UTC") + 86400 * there
for (t in list(as.Date("2020-01-01") + there, as.Date("2020-01-01") + as.integer(there), clock)) stopifnot(identical(digest(t, dated), expected))
for (t in list(as.difftime(there, units = "days"), as.difftime(24 * there, units = "hours"), matrix(there))) stopifnot(identical(digest(t, plain), expected))
frame <- data.frame(y = d$y)
frame$when <- as.POSIXlt(clock)
frame$m <- cbind(there, other = 1)
frame$k <- cbind(there, 1, deparse.level = 0)
columns <- tacit:::source_of(frame, "y when m k mthere k1 k2")
stopifnot(identical(names(columns), c("y", "when", "mthere", "k1", "k2")), inherits(columns$when, "POSIXct"), identical(columns$k1, as.numeric(there)))
says(tacit(y ~ t, transform(d, t = as.Date("2020-01-01")), plain, family = binomial(), epsilon = 1, delta = 1e-6), "since")

# A budget that buys nothing is a plan, as tacit_plan() is asked to say so.
nothing <- tacit_plan(x ~ s, schema, 100, "gaussian", 0.001, 1e-6)
stopifnot(nothing$verdict == "refused", grepl("would buy next to nothing", paste(capture.output(nothing), collapse = "\n")))

# Effects of groups on the scale of the columns: the same sentence, whether the response is scaled or not.
grouped <- tacit(x ~ y + (1 + y | s), d, schema, family = "gaussian", method = "hmc", exposed = TRUE, draws = 50, warmup = 100)
of <- ranef(grouped)$s
stopifnot(identical(dimnames(of)[[1L]], c("a", "b")), identical(dimnames(of)[[3L]], c("Intercept", "y")),
          same(of[, "Estimate", "Intercept"], 3 * colMeans(as.matrix(grouped, "r_s_1"))),
          same(VarCorr(grouped)$s$sd["Intercept", "Estimate"], 3 * mean(as.matrix(grouped, "sd_s_1"))),
          same(VarCorr(grouped)$residual__$sd[, "Estimate"], mean(as.matrix(grouped, "sigma"))),
          !any(grepl("^(r|sd)_", names(coef(grouped)))), identical(tacit:::tidy.tacit_fit(grouped)$term, c("Intercept", "y", "sigma")))
slope <- posterior_linpred(grouped, newdata = data.frame(y = c(0, 1, 0, 1), s = c("a", "a", "b", "b")))
stopifnot(same(mean(slope[, 2] - slope[, 1] - slope[, 4] + slope[, 3]), of["a", "Estimate", "y"] - of["b", "Estimate", "y"]))
says(ranef(fit), "no effects of groups")
says(residuals(fit), "tacit_check()")
says(sigma(fit), "no residual sd")
says(set_prior("normal(0, 1)", class = "sd"), "class 'sd'")
stopifnot(identical(set_prior("normal(0, 1)", class = "b", coef = "x"), "x: normal(0, 1)"), identical(set_prior("normal(0, 1)", class = "Intercept"),
                                                                                                      "(Intercept): normal(0, 1)"),
          identical(set_prior("normal(5, 2)", class = "hu"), "(zero): normal(5, 2)"), identical(set_prior("flat", class = "shape"), "(shape): flat"))
if (requireNamespace("bayesplot", quietly = TRUE)) {
  stopifnot(identical(bayesplot::rhat(fit), fit$summaries[, "Rhat"]), same(bayesplot::neff_ratio(fit), fit$summaries[, "Bulk_ESS"] / 4000))
}
if (requireNamespace("posterior", quietly = TRUE))
  stopifnot(identical(posterior::variables(fit), rownames(fit$summaries)), posterior::ndraws(fit) == 4000L)
if (requireNamespace("rstantools", quietly = TRUE)) stopifnot(identical(rstantools::prior_summary(fit), prior_summary(fit)))

# What was released comes with the fit.
stopifnot(identical(tacit_refit(fit)$draws, fit$draws), coef(update(fit, prior = "normal(0, 0.03)"))[["x"]] < coef(fit)[["x"]] - 0.2,
          nrow(tacit_synthesize(fit, rows = 5)) == 5L, nrow(tacit_check(fit, d, epsilon = 2, delta = 1e-6, seed_not_private = 1)$calibration) == 10L)
says(update(fit, y ~ x), "needs the records")
says(update(fit, newdata = d), "needs the records")
exposed <- tacit(y ~ x + s, d, schema, family = binomial(), method = "hmc", exposed = TRUE, draws = 50, warmup = 50)
says(tacit_refit(exposed), "keeps no releases")
pair <- list(fit, tacit(y ~ x + s, d, schema, family = binomial(), epsilon = 2, delta = 1e-6, seed_not_private = 2))
stopifnot(same(dim(tacit_combine(pair)$draws)[[3L]], 3L))

# Flags and texts.
shown <- function(x) paste(capture.output(print(x)), collapse = "\n")
pulled <- update(fit, prior = "normal(0, 0.03)")
stopifnot(is.data.frame(summary(fit)), grepl("Family: bernoulli\nFormula: y ~ x + s", shown(summary(fit)), fixed = TRUE),
          grepl("problem: x: the prior moves it", shown(summary(pulled))),
          grepl("problem: x", shown(pulled)), grepl("warning: x", shown(summary(pulled))), !grepl("problem|warning", shown(summary(fit))),
          grepl("Not private|not private|NOT PRIVATE", shown(summary(fit))), startsWith(shown(fit$statement),
                                                                                        strsplit(fit$statement, "\n")[[1L]][[1L]]))

# A family that is a program: one scale, and the classes of the response.
ordered <- tacit(z ~ x + s, d, schema, family = "cumulative", method = "hmc", exposed = TRUE, draws = 200, warmup = 200)
shares <- predict(ordered, new, seed = 2)
classes <- posterior_predict(ordered, new, seed = 2)
stopifnot(!any(grepl("^b_s|^cut", names(coef(ordered)))), all(c("x", "sb") %in% rownames(fixef(ordered))),
          identical(names(coef(ordered)), rownames(vcov(ordered))), identical(rownames(fixef(ordered)), c("x", "sb")),
          identical(as.matrix(ordered, "b_x"), as.matrix(ordered, "x")), "b_s[1]" %in% dimnames(ordered$draws)[[3L]],
          identical(colnames(shares), paste0("P(Y = ", c("lo", "mid", "hi"), ")")), same(rowSums(shares), rep(1, 3)),
          same(shares[, 3], colMeans(classes == 3)),
          identical(attr(classes, "levels"), c("lo", "mid", "hi")), grepl("mapped to [-1, 1]", shown(summary(ordered)), fixed = TRUE))
says(prior_summary(ordered), "stand in the program")
stopifnot(same(tacit_contrast(ordered, "x - 2 * sb"), tacit_contrast(ordered, "b_x - 2 * b_sb")),
          hypothesis(ordered, "x > 0")$Post.Prob == mean(as.matrix(ordered, "b_x") > 0))

# A link that is not fitted; settings of other packages; programs' check that forbids intervals.
fits <- function(family, ...) tacit(y ~ x, d, schema, family = family, epsilon = 1, delta = 1e-6, ...)
of <- function(family, link) structure(list(family = family, link = link), class = c("brmsfamily", "family"))
says(fits(of("cumulative", "probit")), "link logit here, not probit")
says(tacit(y | trials(x) ~ x, d, schema, family = binomial("probit"), epsilon = 1, delta = 1e-6), "link logit here, not probit")
stopifnot(grepl("bernoulli_probit(", tacit_model(y ~ x, binomial("probit"), schema), fixed = TRUE),
          tacit:::family_text(bernoulli("probit")) == "probit")
says(fits(Gamma()), "Gamma(\"log\")")
says(fits(bernoulli("cloglog")), "not cloglog")
says(tacit(y ~ x, d, schema, family = "bernoulli", epsilon = c(1, 20), delta = 1e-6), "epsilon: one value, not 2")
says(tacit(y ~ x, d, schema, family = "bernoulli", epsilon = 1, delta = c(1e-6, 1e-5)), "delta: one value, not 2")
says(tacit_plan(y ~ x, schema, 2000, "bernoulli", epsilon = numeric(), delta = 1e-6), "epsilon: one value, not 0")
says(tacit(y ~ x, d, schema, family = "bernoulli", epsilon = NA_real_, delta = 1e-6), "not NA")
for (task in c("fit", "release", "infer")) { # what the library takes several of
  known <- tacit_settings(task)
  stopifnot(all(gsub("-", "_", known$name[grepl("[Mm]ay be repeated", known$help)]) %in% tacit:::repeated))
}
says(fits("bernoulli", iter = 2000), "draws")
says(fits("bernoulli", cores = 2), "threads")
says(tacit(y ~ x, d, family = binomial(), epsilon = 1, delta = 1e-6), "?tacit_schema")
says(tacit(y ~ x, schema = schema, family = binomial(), epsilon = 1, delta = 1e-6), "data: a data frame")
says(tacit(y ~ x, d[0, ], schema, family = binomial(), epsilon = 1, delta = 1e-6), "the data have no records")
says(tacit(y ~ x, d["y"], schema, family = binomial(), epsilon = 1, delta = 1e-6), "the data have no column 'x'")
says(tacit(y ~ x, d, schema, family = binomial(), epsilon = 50, delta = 1e-6), "accept_poor = TRUE")
says(fits("ordinal"), "did you mean 'cumulative'")
says(fits("gama"), "did you mean 'gamma'")
says(fits("multinomial"), "did you mean 'categorical'")
says(fits("qqqqqq"), "'qqqqqq'; tacit_families()")
# of brms
links <- c(bernoulli = "logit", lognormal = "identity", weibull = "log", cumulative = "logit", hurdle_lognormal = "identity", categorical = "logit")
for (name in names(links)) says(fits(of(name, "cauchit")), sprintf("the link %s here", links[[name]]))

# Settings in messages as R writes them; what stands in quotes is the user's.
says(tacit(y ~ x, d, schema, family = binomial()), "epsilon = E delta = D")
says(fits("bernoulli", method = "dp-hmc", clip_grad = "--epsilon 1"), "clip_grad = must be a number")
says(fits("bernoulli", method = "--epsilon 1"), "unknown method '--epsilon 1'; ?tacit")
says(fits("bernoulli", clip_grd = 3), "did you mean 'clip_grad'")
few <- refused(tacit(y ~ x, d, schema, family = "bernoulli", epsilon = 0.02, delta = 1e-6))
plan <- tacit_plan(y ~ x, schema, 2000, "bernoulli", 0.05, 1e-6)
stopifnot(inherits(few, "tacit_poor_plan_error"), !grepl("(^|[^-'\"[:alnum:]])--[a-z]", paste(conditionMessage(few), plan$text, plan$warning,
                                                                                              plan$price)),
          !any(grepl("(^|[^-'\"[:alnum:]])--[a-z]", unlist(lapply(c("fit", "release", "infer"), function(of) tacit_settings(of)$help)))))
for (name in tacit_families()$family) { # the library knows each
  found <- refused(tacit_model(y ~ x, name, schema))
  stopifnot(!inherits(found, "tacit_error") || !grepl("family '", conditionMessage(found), fixed = TRUE))
}
drafted <- tacit_schema_draft(data.frame(age = 4711.5, sex = "Smith"))
stopifnot(grepl("age", drafted), grepl("sex", drafted), !grepl("4711|Smith", drafted))
types <- tacit_schema_draft(data.frame(age = 4711.5, n = 3L, ill = TRUE, ward = factor("Smith"), who = "Smith", born = as.Date("2020-01-01"),
                                       mess = I(list(1))))
for (line in c("age: {type: \"?\"}   # numbers", "\"n\": {type: \"?\"}   # whole numbers", "ill: {type: \"?\"}   # true or false",
               "ward: {type: \"?\"}   # text, in categories",
               "who: {type: \"?\"}   # text", "born: {type: \"?\"}   # dates", "mess: {type: \"?\"}\n")) {
  if (!grepl(line, types, fixed = TRUE)) stop("expected ", line, " in\n", types)
}
stopifnot(!grepl("4711|Smith", types))

# What a check of a schema finds of records is the holder's: not printed, not saved.
moved <- tacit_schema_check(schema, transform(d, x = replace(x, 1, 1e6)))
inside <- tacit_schema_check(schema, d)
kept <- tempfile()
saveRDS(moved, kept, compress = FALSE)
bytes <- function(path) rawToChar(Filter(function(b) b != 0, readBin(path, "raw", file.size(path))))
stopifnot(identical(moved$counts[c("rows", "clamped")], c(rows = n, clamped = 1)), grepl("for the holder of the data only: column 'x'",
                                                                                         moved$for_holder, fixed = TRUE),
          identical(capture.output(moved), capture.output(inside)), inside$counts[["clamped"]] == 0, !grepl("outside|clamped", bytes(kept)),
          is.null(tacit_schema_check(schema)$counts), grepl("ok: 4 columns", tacit_schema_check(schema)$text))
says(tacit_schema_check(schema, transform(d, s = replace(s, 3, "Smith"))), "row 3, column 's'")
says(tacit_schema_check(list(columns = list(x = list(type = "nmeric")))), "columns.x.type")
says(tacit_schema_check(schema, d["x"]), "no column 's'")
forbidden <- fit
forbidden$no_intervals <- TRUE
forbidden$summaries[, c("sd", "q5", "q50", "q95")] <- NaN
says(posterior_epred(forbidden, new), "forbids intervals")
says(vcov(forbidden), "forbids intervals")
says(tacit_contrast(forbidden, "x"), "forbids intervals")
stopifnot(all(is.nan(as.matrix(summary(forbidden, prob = 0.5)[, 2:4]))), all(is.nan(fixef(forbidden)[, -1L])))
