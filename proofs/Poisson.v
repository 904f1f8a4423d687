(* The last step of Minibatch.v, with real numbers: counts are Poisson, and the log odds of a decision are at
   most b t below, and b above, what they are without the record, t = 1 + b/a (docs/theory.md, 15.2). *)
From Coq Require Import Reals Lra Lia.
Open Scope R_scope.

(* The Poisson distribution with mean l. *)
Definition poisson (l : R) (s : nat) : R := exp (- l) * (/ INR (fact s) * l ^ s).

(* f 0 + f 1 + f 2 + ... *)
Definition adds_up_to (f : nat -> R) (total : R) : Prop := Un_cv (sum_f_R0 f) total.

Lemma scaled_sum : forall c f N, sum_f_R0 (fun s => c * f s) N = c * sum_f_R0 f N.
Proof. intros. rewrite scal_sum. apply sum_eq. intros. ring. Qed.

(* E h^s = e^(l (h - 1)) *)
Lemma mean_of_powers : forall l h, adds_up_to (fun s => poisson l s * h ^ s) (exp (l * (h - 1))).
Proof.
  intros l h. pose proof (proj2_sig (exist_exp (l * h))) as E. fold (exp (l * h)) in E. unfold exp_in,
    infinite_sum in E.
  replace (exp (l * (h - 1))) with (exp (- l) * exp (l * h)) by (rewrite <- exp_plus; f_equal; ring).
  apply Un_cv_ext with (fun N => exp (- l) * sum_f_R0 (fun s => / INR (fact s) * (l * h) ^ s) N).
  - intros N. rewrite <- scaled_sum. apply sum_eq. intros s _. unfold poisson. rewrite Rpow_mult_distr. ring.
  - apply CV_mult; [|exact E]. intros e He. exists O. intros. unfold R_dist. rewrite Rminus_diag_eq, Rabs_R0;
      trivial.
Qed.

Lemma poisson_is_positive : forall l s, 0 < l -> 0 < poisson l s.
Proof.
  intros. unfold poisson. apply Rmult_lt_0_compat; [apply exp_pos|]. apply Rmult_lt_0_compat; [|apply pow_lt;
    trivial].
  apply Rinv_0_lt_compat, INR_fact_lt_0.
Qed.

(* Chebyshev's inequality for sums: E f g <= E f E g where g falls as f rises. *)
Lemma chebyshev : forall p f g N, (forall s, 0 <= p s) -> (forall s t, (f s - f t) * (g s - g t) <= 0) ->
  sum_f_R0 p N * sum_f_R0 (fun s => p s * (f s * g s)) N <=
  sum_f_R0 (fun s => p s * f s) N * sum_f_R0 (fun s => p s * g s) N.
Proof.
  intros p f g N Hp Opp.
  assert (K : forall n N, f n * g n * sum_f_R0 p N + sum_f_R0 (fun s => p s * (f s * g s)) N -
                          f n * sum_f_R0 (fun s => p s * g s) N - g n * sum_f_R0 (fun s => p s * f s) N <= 0).
  { intros n M. induction M as [|M IH]; simpl.
    - pose proof (Rmult_le_compat_l _ _ _ (Hp 0%nat) (Opp n 0%nat)). lra.
    - pose proof (Rmult_le_compat_l _ _ _ (Hp (S M)) (Opp n (S M))). lra. }
  induction N as [|N IH]; simpl; [lra|].
  pose proof (Rmult_le_compat_l _ _ _ (Hp (S N)) (K (S N) N)). lra.
Qed.

Lemma inequality_in_the_limit : forall f g a b, (forall N, f N <= g N) -> Un_cv f a -> Un_cv g b -> a <= b.
Proof. intros f g a b H F G. eapply Rle_cv_lim; [exact H | exact F | exact G]. Qed.

(* A record is counted s times, Poisson with mean l, and multiplies the odds w of acceptance by h each time.
   Its mean odds of acceptance, w (sum p h^s g) / (sum p g), g = 1 / (1 + w h^s), are from w e^(l (1 - 1/h)) to
   w e^(l (h - 1)). *)
Lemma mean_odds : forall l h w, 0 < l -> 0 < h -> 0 < w -> let g := fun s => / (1 + w * h ^ s) in
  exists reject accept, adds_up_to (fun s => poisson l s * g s) reject /\
    adds_up_to (fun s => poisson l s * (h ^ s * g s)) accept /\
    0 < reject /\ exp (l * (1 - / h)) * reject <= accept <= exp (l * (h - 1)) * reject.
Proof.
  intros l h w Hl Hh Hw g.
  assert (R0 : forall s, 0 < h ^ s) by (intros; apply pow_lt; trivial).
  assert (D : forall s, 1 < 1 + w * h ^ s) by (intros s; pose proof (Rmult_lt_0_compat _ _ Hw (R0 s)); lra).
  assert (G : forall s, 0 < g s) by (intros s; apply Rinv_0_lt_compat; specialize (D s); lra).
  assert (P : forall s, 0 < poisson l s) by (intros; apply poisson_is_positive; trivial).
  assert (One : adds_up_to (poisson l) 1).
  { pose proof (mean_of_powers l 1) as M. replace (l * (1 - 1)) with 0 in M by ring. rewrite exp_0 in M.
    eapply Un_cv_ext; [|exact M]. intros N. apply sum_eq. intros s _. cbv beta. rewrite pow1. ring. }
  destruct (Rseries_CV_comp (fun s => poisson l s * g s) (poisson l)) as (reject & CR).
  { intros s. specialize (P s). specialize (G s). split; [nra|].
    assert (g s <= 1) by (unfold g; rewrite <- Rinv_1; apply Rinv_le_contravar; specialize (D s); lra). nra. }
  { exists 1. exact One. }
  destruct (Rseries_CV_comp (fun s => poisson l s * (h ^ s * g s)) (fun s => poisson l s * h ^ s)) as (accept
    & CA).
  { intros s. specialize (P s). specialize (G s). specialize (R0 s).
    assert (g s <= 1) by (unfold g; rewrite <- Rinv_1; apply Rinv_le_contravar; specialize (D s); lra).
    assert (0 < h ^ s * g s) by (apply Rmult_lt_0_compat; trivial). assert (h ^ s * g s <= h ^ s) by nra.
      split; nra. }
  { eexists. apply mean_of_powers. }
  exists reject, accept. split; [exact CR|]. split; [exact CA|].
  assert (Rp : 0 < reject).
  { apply Rlt_le_trans with (sum_f_R0 (fun s => poisson l s * g s) 0).
    - simpl. apply Rmult_lt_0_compat; trivial.
    - apply sum_incr; [exact CR|]. intros. apply Rlt_le, Rmult_lt_0_compat; trivial. }
  split; trivial. split.
  - assert (L : 1 * reject <= exp (l * (/ h - 1)) * accept).
    { apply inequality_in_the_limit with
        (fun N => sum_f_R0 (poisson l) N * sum_f_R0 (fun s => poisson l s * g s) N)
        (fun N => sum_f_R0 (fun s => poisson l s * (/ h) ^ s) N * sum_f_R0 (fun s => poisson l s * (h ^ s * g
          s)) N).
      - intros N. eapply Rle_trans; [|apply (chebyshev (poisson l) (fun s => (/ h) ^ s) (fun s => h ^ s * g
          s))].
        + right. f_equal. apply sum_eq. intros s _. rewrite pow_inv. field. specialize (R0 s). lra.
        + intros. apply Rlt_le, P.
        + intros s t. rewrite !pow_inv. unfold g. pose proof (R0 s). pose proof (R0 t). pose proof (D s).
            pose proof (D t).
          set (x := h ^ s) in *. set (y := h ^ t) in *.
          replace ((/ x - / y) * (x * / (1 + w * x) - y * / (1 + w * y))) with
            (- ((x - y) * (x - y) * / (x * y * ((1 + w * x) * (1 + w * y))))) by (field; repeat split; lra).
          assert (H3 : 0 < / (x * y * ((1 + w * x) * (1 + w * y)))) by (apply Rinv_0_lt_compat;
            repeat apply Rmult_lt_0_compat; lra).
          pose proof (Rmult_le_pos _ _ (Rle_0_sqr (x - y)) (Rlt_le _ _ H3)) as Z. unfold Rsqr in Z. lra.
      - apply CV_mult; [exact One | exact CR].
      - apply CV_mult; [apply mean_of_powers | exact CA]. }
    replace (exp (l * (1 - / h))) with (/ exp (l * (/ h - 1))) by (rewrite <- exp_Ropp; f_equal; ring).
    pose proof (exp_pos (l * (/ h - 1))) as E. apply Rmult_le_reg_l with (exp (l * (/ h - 1))); trivial.
    rewrite <- Rmult_assoc, Rinv_r by lra. exact L.
  - assert (L : 1 * accept <= exp (l * (h - 1)) * reject).
    { apply inequality_in_the_limit with
        (fun N => sum_f_R0 (poisson l) N * sum_f_R0 (fun s => poisson l s * (h ^ s * g s)) N)
        (fun N => sum_f_R0 (fun s => poisson l s * h ^ s) N * sum_f_R0 (fun s => poisson l s * g s) N).
      - intros N. apply (chebyshev (poisson l) (fun s => h ^ s) g).
        + intros. apply Rlt_le, P.
        + intros s t. unfold g. pose proof (R0 s). pose proof (R0 t). pose proof (D s). pose proof (D t).
          set (x := h ^ s) in *. set (y := h ^ t) in *.
          replace ((x - y) * (/ (1 + w * x) - / (1 + w * y))) with
            (- (w * ((x - y) * (x - y)) * / ((1 + w * x) * (1 + w * y)))) by (field; split; lra).
          assert (H3 : 0 < / ((1 + w * x) * (1 + w * y))) by (apply Rinv_0_lt_compat; apply Rmult_lt_0_compat;
            lra).
          assert (H4 : 0 <= w * ((x - y) * (x - y))) by (apply Rmult_le_pos; [lra | apply Rle_0_sqr]).
          pose proof (Rmult_le_pos _ _ H4 (Rlt_le _ _ H3)). lra.
      - apply CV_mult; [exact One | exact CA].
      - apply CV_mult; [apply mean_of_powers | exact CR]. }
    lra.
Qed.

(* A record's log ratio is x, -b <= x <= b: its count has mean a + (b - x)/2, and multiplies the odds by
   (a + (b + x)/2) / (a + (b - x)/2) each time. Its mean odds are from e^(-b t) to e^b times those without it. So
   those of two records are at most e^(b (1 + t)) times one another, and against no record at most e^(b t). *)
Theorem log_odds_of_a_minibatch : forall a b x w, 0 < a -> - b <= x <= b -> 0 < w ->
  let l := a + (b - x) / 2 in let h := (a + (b + x) / 2) / l in let g := fun s => / (1 + w * h ^ s) in
  exists reject accept, adds_up_to (fun s => poisson l s * g s) reject /\
    adds_up_to (fun s => poisson l s * (h ^ s * g s)) accept /\
    0 < reject /\ exp (- (b * (1 + b / a))) <= accept / reject <= exp b.
Proof.
  intros a b x w Ha Hx Hw l h g. set (n := a + (b + x) / 2) in *.
  assert (Hl : 0 < l) by (unfold l; lra). assert (Hn : 0 < n) by (unfold n; lra).
  assert (Hh : 0 < h) by (unfold h; apply Rdiv_lt_0_compat; trivial).
  destruct (mean_odds l h w Hl Hh Hw) as (reject & accept & CR & CA & P & L & U).
  exists reject, accept. repeat split; trivial.
  - apply Rmult_le_reg_r with reject; trivial. unfold Rdiv at 2. rewrite Rmult_assoc, Rinv_l,
      Rmult_1_r by lra.
    eapply Rle_trans; [|exact L]. apply Rmult_le_compat_r; [lra|].
    assert (E : - (b * (1 + b / a)) <= l * (1 - / h)).
    { replace (l * (1 - / h)) with (x * l / n) by (unfold h, n, l; field; unfold l, n in *; lra).
      apply Rmult_le_reg_r with (a * n); [apply Rmult_lt_0_compat; trivial|].
      replace (- (b * (1 + b / a)) * (a * n)) with (- (b * (a + b) * n)) by (field; lra).
      replace (x * l / n * (a * n)) with (a * (x * l)) by (field; lra). unfold l, n.
      assert (0 <= (b + x) * (2 * a * a + 3 * a * b + b * b - a * x)) by (apply Rmult_le_pos; nra). nra. }
    destruct E as [E | E]; [left; apply exp_increasing; trivial | right; rewrite E; trivial].
  - apply Rmult_le_reg_r with reject; trivial. unfold Rdiv. rewrite Rmult_assoc, Rinv_l, Rmult_1_r by lra.
    eapply Rle_trans; [exact U|]. apply Rmult_le_compat_r; [lra|].
    replace (l * (h - 1)) with x by (unfold h, n, l; field; unfold l in *; lra).
    destruct (proj2 Hx) as [E | E]; [left; apply exp_increasing; trivial | right; rewrite E; trivial].
Qed.
