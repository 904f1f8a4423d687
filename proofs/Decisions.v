(* Lemmas 3.1 and 3.2 of src/boundary/door/README.md, over whole numbers: how far one unit moves a log ratio. (3.2 with
   real numbers, and that clipping to a ball moves no two vectors apart, is in Clipping.v.) *)
From Tacit Require Import Vectors Shapes.

(* ---- 3.1: scalars ---- *)

Definition clip (c x : Z) : Z := Z.max (Z.min x c) (- c).

(* z is a nearest whole number of n / q, whichever of two. *)
Definition is_nearest (z n q : Z) : Prop := - q <= 2 * (q * z - n) <= q.

(* A number n / q that lies in +-c, c whole, is still in +-c when it is rounded. *)
Theorem rounding_stays_within_the_clip : forall c n q z, 0 < q -> - (c * q) <= n <= c * q ->
  is_nearest z n q -> - c <= z <= c.
Proof.
  unfold is_nearest. intros. split; apply Z.lt_succ_r; apply (Z.mul_lt_mono_pos_l q); nia.
Qed.

(* Clipped to +-c, a scalar moves by at most 2 c, against none by c. *)
Theorem scalar_moves : forall c x y, 0 <= c ->
  - (2 * c) <= clip c x - clip c y <= 2 * c /\ - c <= clip c x <= c.
Proof. unfold clip. lia. Qed.

(* The decision's ratio is capped at +-2^62: that moves no two apart. *)
Theorem capping_moves_no_two_apart : forall c x y, 0 <= c -> Z.abs (clip c x - clip c y) <= Z.abs (x - y).
Proof. unfold clip. lia. Qed.

(* Rounded, two numbers are at most 1 further apart: rounding of noise, and of a product. *)
Theorem rounding_moves_by_one : forall x y n m q, 0 < q -> is_nearest x n q -> is_nearest y m q ->
  q * Z.abs (x - y) <= Z.abs (n - m) + q.
Proof. unfold is_nearest. intros. nia. Qed.

(* ---- 3.2: a product ---- *)

(* |<A, B> - <A', B'>| <= a q + p b, where |A - A'| <= a, |B| <= q, |A'| <= p, |B - B'| <= b. *)
Theorem product_moves : forall A A' B B' a b p q, 0 <= a -> 0 <= b -> 0 <= p -> 0 <= q ->
  distance2 A A' <= a ^ 2 -> square B <= q ^ 2 -> square A' <= p ^ 2 -> distance2 B B' <= b ^ 2 ->
  Z.abs (dot A B - dot A' B') <= a * q + p * b.
Proof.
  intros A A' B B' a b p q Ha Hb Hp Hq DA SB SA DB.
  pose proof (inner_bound [] (minus A A') B a q square_of_none Ha Hq DA SB) as X.
  pose proof (inner_bound [] A' (minus B B') p b square_of_none Hp Hb SA DB) as Y.
  revert X Y. expand. intros. lia.
Qed.

(* Multiplied by public scales, number by number, none of which is above m, a vector is at most m times as
   long. *)
Fixpoint scaled (scale u : list Z) : list Z :=
  match scale, u with s :: scale', a :: u' => s * a :: scaled scale' u' | _, _ => [] end.

Theorem scaling_moves : forall m scale u, Forall (fun s => - m <= s <= m) scale ->
  square (scaled scale u) <= m ^ 2 * square u.
Proof.
  unfold square, dot. intros m scale u F. revert u.
  induction F as [|s scale Hs F IH]; intros [|a u]; cbn [scaled inner hd tl]; try lia.
  - pose proof (square_is_no_less_than_0 (a :: u)) as P. unfold square, dot in P. cbn [inner hd tl] in P.
      assert (0 <= m ^ 2) by nia. nia.
  - specialize (IH u). assert (s ^ 2 <= m ^ 2) by nia. nia.
Qed.

(* A sum has its public part added to it: that moves no two apart. *)
Theorem adding_the_same_moves_nothing : forall w A A' c,
  let d := minus (add A c) (add A' c) in inner w d d = inner w (minus A A') (minus A A').
Proof. intros. subst d. rewrite !distance_of_inner. expand. rewrite !(inner_comm c w A), !(inner_comm c w A').
  ring. Qed.

(* ---- the check of a length in double precision (lattice_isa.c, whole_piece) ---- *)

(* A rounding to doubles: it keeps order, and whole numbers of up to 2^53 as they are (IEEE 754, any mode). *)
Definition is_rounding (round : Z -> Z) : Prop :=
  (forall x y, x <= y -> round x <= round y) /\ (forall x, - 2 ^ 53 <= x <= 2 ^ 53 -> round x = x).

Fixpoint rounded_square (round : Z -> Z) (sum : Z) (u : list Z) : Z :=
  match u with [] => sum | a :: u' => rounded_square round (round (sum + round (round a * round a))) u' end.

Lemma stays_above : forall round r u s, is_rounding round -> 0 <= r < 2 ^ 53 -> r < s ->
  r < rounded_square round s u.
Proof.
  intros round r u s [M K] Hr. revert s. induction u as [|a u IH]; simpl; intros s Hs; [trivial|].
  apply IH. assert (H0 : round 0 = 0) by (apply K; lia). assert (H1 : round (r + 1) = r + 1) by (apply K;
    lia).
  assert (0 <= round (round a * round a)) by (rewrite <- H0 at 1; apply M; apply Z.square_nonneg).
  assert (round (r + 1) <= round (s + round (round a * round a))) by (apply M; lia). lia.
Qed.

Lemma long_entry : forall round a, is_rounding round -> 2 ^ 26 < Z.abs a ->
  2 ^ 52 < round (round a * round a).
Proof.
  intros round a [M K] Ha. assert (H : 2 ^ 26 + 1 <= Z.abs (round a)).
  { destruct (Z.le_ge_cases 0 a).
    - assert (X : round (2 ^ 26 + 1) <= round a) by (apply M; lia). rewrite K in X by lia. lia.
    - assert (X : round a <= round (- (2 ^ 26 + 1))) by (apply M; lia).
        rewrite (K (- (2 ^ 26 + 1))) in X by lia. lia. }
  assert (X : round (2 ^ 52 + 1) <= round (round a * round a)) by
    (apply M; rewrite <- (Z.abs_square (round a)); nia). rewrite K in X; lia.
Qed.

Lemma check_from : forall round R u s, is_rounding round -> 0 <= R <= 2 ^ 26 -> 0 <= s <= R ^ 2 ->
  (rounded_square round s u <= R ^ 2 <-> s + square u <= R ^ 2).
Proof.
  intros round R u s Hr HR. assert (R2 : 0 <= R ^ 2 <= 2 ^ 52) by nia. revert s.
  unfold square, dot. induction u as [|a u IH]; intros s Hs; cbn [rounded_square inner hd tl]; [lia|].
  pose proof (square_is_no_less_than_0 u) as P. unfold square, dot in P.
  destruct (Z.le_gt_cases (Z.abs a) (2 ^ 26)) as [S | L].
  - destruct Hr as [M K]. assert (A : 0 <= a * a <= 2 ^ 52) by nia.
    rewrite (K a), (K (a * a)), (K (s + a * a)) by lia.
    destruct (Z.le_gt_cases (s + a * a) (R ^ 2)).
    + rewrite IH by lia. replace (1 * a * a) with (a * a) by ring. lia.
    + pose proof (stays_above round (R ^ 2) u (s + a * a) (conj M K)). lia.
  - pose proof (long_entry round a Hr L). pose proof Hr as [M K].
    assert (X : round (2 ^ 52 + 1) <= round (s + round (round a * round a))) by (apply M; lia).
      rewrite K in X by lia.
    pose proof (stays_above round (R ^ 2) u _ Hr ltac:(lia) ltac:(apply (Z.lt_le_trans _ (2 ^ 52 + 1));
      [lia | exact X])).
    assert (2 ^ 52 < a * a) by (rewrite <- (Z.abs_square a); nia). lia.
Qed.

(* Squares summed in double precision, in one order, are at most R^2 just where the exact ones are, for R up
   to 2^26: the check is the ball. *)
Theorem the_check_in_doubles_is_exact : forall round R u, is_rounding round -> 0 <= R <= 2 ^ 26 ->
  (rounded_square round 0 u <= R ^ 2 <-> square u <= R ^ 2).
Proof. intros. rewrite check_from; trivial; [lia | nia]. Qed.
