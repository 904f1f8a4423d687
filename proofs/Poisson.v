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

(* A record is counted s times, with probability p s, and multiplies the odds w of acceptance by r s, which is
   at most u s and at least 1 / v s. Its mean odds of acceptance, w (sum p r g) / (sum p g), g = 1 / (1 + w r),
   are from w / E v to w E u. *)
Lemma mean_odds : forall p r u v U V w, 0 < w -> (forall s, 0 < p s) -> adds_up_to p 1 ->
  (forall s, 0 < r s) ->
  (forall s, r s <= u s) -> (forall s, / r s <= v s) ->
  adds_up_to (fun s => p s * u s) U -> adds_up_to (fun s => p s * v s) V ->
  let g := fun s => / (1 + w * r s) in
  exists reject accept, adds_up_to (fun s => p s * g s) reject /\
    adds_up_to (fun s => p s * (r s * g s)) accept /\ 0 < reject /\ reject <= V * accept /\
      accept <= U * reject.
Proof.
  intros p r u v U V w Hw P One R0 Hu Hv CU CV g.
  assert (D : forall s, 1 < 1 + w * r s) by (intros s; pose proof (Rmult_lt_0_compat _ _ Hw (R0 s)); lra).
  assert (G : forall s, 0 < g s) by (intros s; apply Rinv_0_lt_compat; specialize (D s); lra).
  assert (G1 : forall s, g s <= 1) by (intros s; unfold g; rewrite <- Rinv_1; apply Rinv_le_contravar;
    specialize (D s); lra).
  destruct (Rseries_CV_comp (fun s => p s * g s) p) as (reject & CR).
  { intros s. specialize (P s). specialize (G s). specialize (G1 s). split; nra. }
  { exists 1. exact One. }
  destruct (Rseries_CV_comp (fun s => p s * (r s * g s)) (fun s => p s * u s)) as (accept & CA).
  { intros s. specialize (P s). specialize (G s). specialize (G1 s). specialize (R0 s). specialize (Hu s).
    assert (0 < r s * g s) by (apply Rmult_lt_0_compat; trivial). assert (r s * g s <= u s) by nra. split;
      nra. }
  { exists U. exact CU. }
  exists reject, accept. split; [exact CR|]. split; [exact CA|]. split; [|split].
  - apply Rlt_le_trans with (sum_f_R0 (fun s => p s * g s) 0).
    + simpl. apply Rmult_lt_0_compat; trivial.
    + apply sum_incr; [exact CR|]. intros. apply Rlt_le, Rmult_lt_0_compat; trivial.
  - rewrite <- (Rmult_1_l reject). apply inequality_in_the_limit with
      (fun N => sum_f_R0 p N * sum_f_R0 (fun s => p s * g s) N)
      (fun N => sum_f_R0 (fun s => p s * v s) N * sum_f_R0 (fun s => p s * (r s * g s)) N).
    + intros N. eapply Rle_trans; [|eapply Rle_trans; [apply (chebyshev p (fun s => / r s) (fun s => r s * g
        s))|]].
      * right. f_equal. apply sum_eq. intros s _. field. specialize (R0 s). lra.
      * intros. apply Rlt_le, P.
      * intros s t. unfold g. pose proof (R0 s). pose proof (R0 t). pose proof (D s). pose proof (D t).
        set (x := r s) in *. set (y := r t) in *.
        replace ((/ x - / y) * (x * / (1 + w * x) - y * / (1 + w * y))) with
          (- ((x - y) * (x - y) * / (x * y * ((1 + w * x) * (1 + w * y))))) by (field; repeat split; lra).
        assert (I : 0 < / (x * y * ((1 + w * x) * (1 + w * y)))) by
          (apply Rinv_0_lt_compat; repeat apply Rmult_lt_0_compat; lra).
        pose proof (Rmult_le_pos _ _ (Rle_0_sqr (x - y)) (Rlt_le _ _ I)) as J. unfold Rsqr in J. lra.
      * apply Rmult_le_compat_r.
        { apply cond_pos_sum. intros. apply Rlt_le. repeat apply Rmult_lt_0_compat; trivial. }
        apply sum_Rle. intros s _. apply Rmult_le_compat_l; [apply Rlt_le, P | apply Hv].
    + apply CV_mult; [exact One | exact CR].
    + apply CV_mult; [exact CV | exact CA].
  - rewrite <- (Rmult_1_l accept). apply inequality_in_the_limit with
      (fun N => sum_f_R0 p N * sum_f_R0 (fun s => p s * (r s * g s)) N)
      (fun N => sum_f_R0 (fun s => p s * u s) N * sum_f_R0 (fun s => p s * g s) N).
    + intros N. eapply Rle_trans; [apply (chebyshev p r g)|].
      * intros. apply Rlt_le, P.
      * intros s t. unfold g. pose proof (R0 s). pose proof (R0 t). pose proof (D s). pose proof (D t).
        set (x := r s) in *. set (y := r t) in *.
        replace ((x - y) * (/ (1 + w * x) - / (1 + w * y))) with
          (- (w * ((x - y) * (x - y)) * / ((1 + w * x) * (1 + w * y)))) by (field; split; lra).
        assert (I : 0 < / ((1 + w * x) * (1 + w * y))) by (apply Rinv_0_lt_compat; apply Rmult_lt_0_compat;
          lra).
        assert (J : 0 <= w * ((x - y) * (x - y))) by (apply Rmult_le_pos; [lra | apply Rle_0_sqr]).
        pose proof (Rmult_le_pos _ _ J (Rlt_le _ _ I)). lra.
      * apply Rmult_le_compat_r.
        { apply cond_pos_sum. intros. apply Rlt_le, Rmult_lt_0_compat; trivial. }
        apply sum_Rle. intros s _. apply Rmult_le_compat_l; [apply Rlt_le, P | apply Hu].
    + apply CV_mult; [exact One | exact CA].
    + apply CV_mult; [exact CU | exact CR].
Qed.

Lemma exp_le : forall a b, a <= b -> exp a <= exp b.
Proof. intros a b [L | ->]; [left; apply exp_increasing; trivial | right; trivial]. Qed.

(* A record's log ratio is x, -b <= x <= b: its count has mean a + (b - x)/2, and multiplies the odds by
   h = (a + (b + x)/2) / (a + (b - x)/2) each time, together by r s = h^s; or by a number between 1 and that, where
   the log odds are capped. Its mean odds are from e^(-b t) to e^b times those without it. So those of two records
   are at most e^(b (1 + t)) times one another, and against no record at most e^(b t). *)
Theorem log_odds_of_a_minibatch : forall a b x w r, 0 < a -> - b <= x <= b -> 0 < w ->
  let l := a + (b - x) / 2 in let h := (a + (b + x) / 2) / l in
  (forall s, 1 <= r s <= h ^ s \/ h ^ s <= r s <= 1) ->
  let g := fun s => / (1 + w * r s) in
  exists reject accept, adds_up_to (fun s => poisson l s * g s) reject /\
    adds_up_to (fun s => poisson l s * (r s * g s)) accept /\
    0 < reject /\ exp (- (b * (1 + b / a))) <= accept / reject <= exp b.
Proof.
  intros a b x w r Ha Hx Hw l h Hr g. set (n := a + (b + x) / 2) in *.
  assert (Hl : 0 < l) by (unfold l; lra). assert (Hn : 0 < n) by (unfold n; lra).
  assert (Hh : 0 < h) by (unfold h; apply Rdiv_lt_0_compat; trivial).
  assert (Hs : forall s, 0 < h ^ s) by (intros; apply pow_lt; trivial).
  assert (R0 : forall s, 0 < r s) by (intros s; specialize (Hs s); destruct (Hr s); lra).
  assert (P : forall s, 0 < poisson l s) by (intros; apply poisson_is_positive; trivial).
  assert (T : 0 <= b * (1 + b / a)) by
    (apply Rmult_le_pos; [lra|]; assert (0 <= b / a) by (apply Rmult_le_pos; [lra | left;
      apply Rinv_0_lt_compat; trivial]); lra).
  assert (One : adds_up_to (poisson l) 1).
  { pose proof (mean_of_powers l 1) as M. replace (l * (1 - 1)) with 0 in M by ring. rewrite exp_0 in M.
    eapply Un_cv_ext; [|exact M]. intros N. apply sum_eq. intros s _. cbv beta. rewrite pow1. ring. }
  assert (One' : adds_up_to (fun s => poisson l s * 1) 1).
  { eapply Un_cv_ext; [|exact One]. intros N. apply sum_eq. intros. ring. }
  assert (B : exists U V, U <= exp b /\ V <= exp (b * (1 + b / a)) /\ 0 < V /\ exists u v, (forall s,
    r s <= u s) /\
    (forall s, / r s <= v s) /\ adds_up_to (fun s => poisson l s * u s) U /\
      adds_up_to (fun s => poisson l s * v s) V).
  { destruct (Rle_lt_dec 0 x) as [X | X].
    - (* h >= 1 *) assert (H1 : 1 <= h).
      { unfold h. apply Rmult_le_reg_r with l; trivial. unfold Rdiv. rewrite Rmult_assoc, Rinv_l by lra.
          unfold n, l. lra. }
      assert (K : forall s, 1 <= h ^ s) by (intros; apply pow_R1_Rle; trivial).
      exists (exp (l * (h - 1))), 1. repeat split.
      + replace (l * (h - 1)) with x by (unfold h, n, l; field; unfold l in *; lra). apply exp_le. lra.
      + apply Rle_trans with (exp 0); [rewrite exp_0; lra | apply exp_le; trivial].
      + lra.
      + exists (fun s => h ^ s), (fun _ => 1). repeat split; trivial.
        * intros s. specialize (K s). destruct (Hr s); lra.
        * intros s. rewrite <- Rinv_1. apply Rinv_le_contravar; [lra|]. specialize (K s). destruct (Hr s);
            lra.
        * apply mean_of_powers.
    - (* h < 1 *) assert (H1 : h <= 1).
      { unfold h. apply Rmult_le_reg_r with l; trivial. unfold Rdiv. rewrite Rmult_assoc, Rinv_l by lra.
          unfold n, l. lra. }
      assert (K : forall s, h ^ s <= 1) by (intros s; rewrite <- (pow1 s); apply pow_incr; lra).
      exists 1, (exp (l * (/ h - 1))). repeat split.
      + apply Rle_trans with (exp 0); [rewrite exp_0; lra | apply exp_le; lra].
      + apply exp_le. replace (l * (/ h - 1)) with (- (x * l / n)) by (unfold h, n, l; field; unfold l,
          n in *; lra).
        apply Rmult_le_reg_r with (a * n); [apply Rmult_lt_0_compat; trivial|].
        replace (b * (1 + b / a) * (a * n)) with (b * (a + b) * n) by (field; lra).
        replace (- (x * l / n) * (a * n)) with (- (a * (x * l))) by (field; lra). unfold l, n.
        assert (0 <= (b + x) * (2 * a * a + 3 * a * b + b * b - a * x)) by (apply Rmult_le_pos; nra). nra.
      + apply exp_pos.
      + exists (fun _ => 1), (fun s => (/ h) ^ s). repeat split; trivial.
        * intros s. specialize (K s). destruct (Hr s); lra.
        * intros s. rewrite pow_inv. apply Rinv_le_contravar; trivial. specialize (K s). destruct (Hr s); lra.
        * apply mean_of_powers. }
  destruct B as (U & V & BU & BV & V0 & u & v & Hu & Hv & CU & CV).
  destruct (mean_odds (poisson l) r u v U V w Hw P One R0 Hu Hv CU CV) as (reject & accept & CR & CA & R1 & L
    & A).
  exists reject, accept. repeat split; trivial.
  - apply Rmult_le_reg_r with reject; trivial. unfold Rdiv at 2. rewrite Rmult_assoc, Rinv_l,
      Rmult_1_r by lra.
    rewrite exp_Ropp. apply Rmult_le_reg_l with (exp (b * (1 + b / a))); [apply exp_pos|].
    rewrite <- Rmult_assoc, Rinv_r, Rmult_1_l by (apply Rgt_not_eq, exp_pos).
    eapply Rle_trans; [exact L|]. apply Rmult_le_compat_r; trivial.
    apply Rmult_le_reg_l with V; trivial. rewrite Rmult_0_r. lra.
  - apply Rmult_le_reg_r with reject; trivial. unfold Rdiv. rewrite Rmult_assoc, Rinv_l, Rmult_1_r by lra.
    eapply Rle_trans; [exact A|]. apply Rmult_le_compat_r; lra.
Qed.
