(* Theorem 4's decision by minibatch of src/boundary/door/README.md (docs/theory.md, 15.2): how far one record moves
   the log odds. A record counts s times; each time multiplies the odds by h = (2 a + b + x) / (2 a + b - x).
   Given the other records' counts the odds without the record are w, and the decision accepts with
   probability w h^s / (1 + w h^s). So the odds, averaged over s with weights p_s, are

      w  (sum_s p_s h^s g_s) / (sum_s p_s g_s),   g_s = 1 / (1 + w h^s),

   which is shown to lie between w / E h^-s and w E h^s, whatever the weights. Poisson.v takes the weights of
   Poisson counts with mean a + (b - x)/2, for which these are w e^(x/h) and w e^x. With -b <= x <= b their
   logarithms are within [-b t, b] of log w, t = 1 + b/a. *)
From Tacit Require Import Vectors.

(* sum_s p_s f_s g_s *)
Fixpoint mean (l : list (Z * Z * Z)) : Z :=
  match l with [] => 0 | (p, f, g) :: rest => p * f * g + mean rest end.
Definition first (l : list (Z * Z * Z)) : list (Z * Z * Z) := map (fun '(p, f, g) => (p, f, 1)) l.
Definition second (l : list (Z * Z * Z)) : list (Z * Z * Z) := map (fun '(p, f, g) => (p, 1, g)) l.
Definition all (l : list (Z * Z * Z)) : list (Z * Z * Z) := map (fun '(p, f, g) => (p, 1, 1)) l.

(* Where f is larger, g is no larger. *)
Definition opposite (x y : Z * Z * Z) : Prop :=
  let '(_, f, g) := x in let '(_, f', g') := y in (f - f') * (g - g') <= 0.

Lemma one_against_all : forall p f g l, 0 <= p -> Forall (fun x => 0 <= fst (fst x)) l ->
  Forall (opposite (p, f, g)) l ->
  p * f * g * mean (all l) + p * mean l <= p * f * mean (second l) + p * g * mean (first l).
Proof.
  intros p f g l Hp F O. induction l as [|[[q f'] g'] l IH]; [simpl; lia|].
  inversion F as [|? ? Hq F']; inversion O as [|? ? Ho O']; subst. specialize (IH F' O'). simpl in *.
  assert (0 <= p * q) by nia. assert (p * q * ((f - f') * (g - g')) <= 0) by nia. lia.
Qed.

(* Chebyshev's inequality for sums: E f g <= E f E g. *)
Lemma chebyshev : forall l, Forall (fun x => 0 <= fst (fst x)) l -> ForallOrdPairs opposite l ->
  mean (all l) * mean l <= mean (first l) * mean (second l).
Proof.
  induction l as [|[[p f] g] l IH]; intros F O; [simpl; lia|].
  inversion F as [|? ? Hp F']; inversion O as [|? ? Ho O']; subst. specialize (IH F' O'). simpl in Hp.
  pose proof (one_against_all p f g l Hp F' Ho). simpl.
  assert (p * 1 * 1 * (p * f * g) = p * f * 1 * (p * 1 * g)) by ring. lia.
Qed.

(* Counts s = 0 .. N with weights p s; F s is h^s in some unit, B s is h^-s, so that F s B s = c is one
   number; g s is 1 / (1 + w h^s) in some unit: g s (u + w F s) = K is one number, u and w positive. *)
Definition over (N : nat) (p f g : nat -> Z) : list (Z * Z * Z) :=
  map (fun s => (p s, f s, g s)) (seq 0 (S N)).
Definition expectation (N : nat) (p f : nat -> Z) : Z := mean (over N p f (fun _ => 1)).

Lemma mean_of : forall N p f g, mean (over N p f g) = expectation N p (fun s => f s * g s) /\
  mean (first (over N p f g)) = expectation N p f /\
  mean (second (over N p f g)) = expectation N p g /\
  mean (all (over N p f g)) = expectation N p (fun _ => 1).
Proof.
  intros. unfold expectation, over, first, second, all. generalize (seq 0 (S N)). clear N.
  induction l as [|s l (A & B & C & D)]; [simpl; lia|]. cbn [map mean]. rewrite A, B, C, D. repeat split;
    ring.
Qed.

Lemma factor_is_positive : forall x y z, 0 < y -> 0 < z -> x * y = z -> 0 < x.
Proof. intros; nia. Qed.

Lemma larger_factor : forall x y x' y', 0 < x -> 0 < x' -> 0 < y -> x * y = x' * y' -> y <= y' -> x' <= x.
Proof. intros; nia. Qed.

Lemma weights_fall : forall u w K r r' x x', 0 < u -> 0 <= w -> 0 < K -> 0 < r -> 0 < r' ->
  x * (u + w * r) = K -> x' * (u + w * r') = K -> (r - r') * (x - x') <= 0.
Proof.
  intros u w K r r' x x' Hu Hw HK Hr Hr' E E'.
  assert (D : 0 < u + w * r) by nia. assert (D' : 0 < u + w * r') by nia.
  pose proof (factor_is_positive _ _ _ D HK E) as X. pose proof (factor_is_positive _ _ _ D' HK E') as X'.
  destruct (Z.le_ge_cases r r').
  - assert (x' <= x) by (apply (larger_factor x (u + w * r) x' (u + w * r')); nia). nia.
  - assert (x <= x') by (apply (larger_factor x' (u + w * r') x (u + w * r)); nia). nia.
Qed.

Lemma products_rise : forall u w K c r r' v v' x x', 0 < u -> 0 < w -> 0 < K -> 0 < r -> 0 < r' ->
  r * v = c -> r' * v' = c -> 0 < c ->
  x * (u + w * r) = K -> x' * (u + w * r') = K -> (v - v') * (r * x - r' * x') <= 0.
Proof.
  intros u w K c r r' v v' x x' Hu Hw HK Hr Hr' V V' Hc E E'.
  assert (D : 0 < u + w * r) by nia. assert (D' : 0 < u + w * r') by nia.
  pose proof (factor_is_positive _ _ _ D HK E) as X. pose proof (factor_is_positive _ _ _ D' HK E') as X'.
  pose proof (weights_fall u w K r r' x x' Hu (Z.lt_le_incl _ _ Hw) HK Hr Hr' E E') as F.
  assert (V0 : 0 < v) by (apply (factor_is_positive v r c); lia).
    assert (V0' : 0 < v') by (apply (factor_is_positive v' r' c); lia).
  (* u x + w (r x) = K: where x is smaller, r x is no smaller *)
  assert (P : u * x + w * (r * x) = u * x' + w * (r' * x')) by lia.
  destruct (Z.le_ge_cases r r') as [L | L].
  - assert (v' <= v) by (apply (larger_factor v r v' r'); lia).
    assert (x' <= x) by (apply (larger_factor x (u + w * r) x' (u + w * r')); nia).
    assert (r * x <= r' * x') by (clear - P Hu Hw H0; generalize dependent (r * x);
      generalize dependent (r' * x'); intros; nia). nia.
  - assert (v <= v') by (apply (larger_factor v' r' v r); lia).
    assert (x <= x') by (apply (larger_factor x' (u + w * r') x (u + w * r)); nia).
    assert (r' * x' <= r * x) by (clear - P Hu Hw H0; generalize dependent (r * x);
      generalize dependent (r' * x'); intros; nia). nia.
Qed.

Theorem odds_of_a_minibatch : forall N p F B g u w K c, 0 < u -> 0 < w -> 0 < K -> 0 < c ->
  (forall s, 0 <= p s) -> (forall s, 0 < F s) -> (forall s, F s * B s = c) ->
  (forall s, g s * (u + w * F s) = K) ->
  let E := expectation N p in
  E (fun _ => 1) * E (fun s => F s * g s) <= E F * E g /\       (* E h^s g / E g <= E h^s *)
  E (fun _ => 1) * (c * E g) <= E B * E (fun s => F s * g s).   (* 1 / E h^-s <= E h^s g / E g *)
Proof.
  intros N p F B g u w K c Hu Hw HK Hc Hp HF HB Hg E.
  assert (P : forall f x, Forall (fun y => 0 <= fst (fst y)) (over N p f x)).
  { intros. apply Forall_forall. intros y I. apply in_map_iff in I. destruct I as (s & <- & _). apply Hp. }
  assert (O : forall f x, (forall s t, (f s - f t) * (x s - x t) <= 0) ->
    ForallOrdPairs opposite (over N p f x)).
  { intros f x H. apply ForallPairs_ForallOrdPairs. intros y z Iy Iz. apply in_map_iff in Iy, Iz.
    destruct Iy as (s & <- & _), Iz as (t & <- & _). apply H. }
  split.
  - pose proof (chebyshev (over N p F g) (P F g) (O F g ltac:(intros; apply (weights_fall u w K);
      auto with zarith))) as C.
    destruct (mean_of N p F g) as (A & Q & R & T). rewrite A, Q, R, T in C. exact C.
  - pose proof (chebyshev (over N p B (fun s => F s * g s)) (P _ _)
      (O _ _ ltac:(intros; cbv beta; apply (products_rise u w K c); auto with zarith))) as C.
    destruct (mean_of N p B (fun s => F s * g s)) as (A & Q & R & T). rewrite A, Q, R, T in C.
    assert (X : expectation N p (fun s => B s * (F s * g s)) = c * E g).
    { subst E. unfold expectation, over. induction (seq 0 (S N)) as [|s l IH]; cbn [map mean]; [ring|].
        rewrite IH, <- (HB s). ring. }
    rewrite X in C. exact C.
Qed.

(* For Poisson counts of mean l = (2 a + b - x) / 2, log E h^s = l (h - 1) = x and - log E h^-s = l (1 - 1/h)
   = x / h; in whole numbers, with n = 2 a + b + x, m = 2 a + b - x: m (n - m) = 2 x m. Both are positive, and
   a candidate is kept with probability m / (2 (a + b)) <= 1. *)
Theorem counts_are_poisson : forall a b x, 0 < a -> - b <= x <= b ->
  let n := 2 * a + b + x in let m := 2 * a + b - x in
  m * (n - m) = 2 * x * m /\ 0 < n /\ 0 < m <= 2 * (a + b).
Proof. intros. subst n m. repeat split; try ring; lia. Qed.

(* So the logarithm of the mean odds over w is from x / h = x m / n to x, which is from - b (a + b) / a = - b
   t to b. *)
Theorem log_odds_of_a_record : forall a b x, 0 < a -> - b <= x <= b ->
  let n := 2 * a + b + x in let m := 2 * a + b - x in
  x <= b /\ x * m <= b * n /\ - (b * (a + b)) * n <= a * (x * m) /\ - (b * (a + b)) <= a * x.
Proof.
  intros a b x Ha Hx n m. subst n m.
  assert (A : 0 <= (b - x) * (2 * a + b) + x * (b + x)).
  { destruct (Z.le_ge_cases 0 x); [nia|]. assert ((b - x) * b <= (b - x) * (2 * a + b)) by nia. nia. }
  assert (B : 0 <= (b + x) * (2 * a ^ 2 + 3 * a * b + b ^ 2 - a * x)) by (apply Z.mul_nonneg_nonneg; nia).
  assert (C : a * - b <= a * x) by nia. assert (0 <= b * b) by nia.
  repeat split; lia.
Qed.

(* Two records' are at most b (1 + t) = b (2 a + b) / a apart; one's is at most b t from that of none, which
   is 0. *)
Theorem log_odds_move : forall a b l l', 0 < a -> 0 <= b -> - (b * (a + b)) <= a * l /\ l <= b ->
  - (b * (a + b)) <= a * l' /\ l' <= b ->
  a * Z.abs (l - l') <= b * (2 * a + b) /\ a * Z.abs (l - 0) <= b * (a + b).
Proof. intros. split; nia. Qed.
