(* What a unit is, that two neighbours' sums differ by what one unit adds, and that sums are exact: the same
   in any order and in any parts.

   A data set is the list of what its units add: each a vector of whole numbers, [] for a unit that does not
   count. *)
From Tacit Require Import Vectors.
Open Scope bool_scope.
Open Scope Z_scope.

Fixpoint total (units : list (list Z)) : list Z :=
  match units with [] => [] | k :: rest => add k (total rest) end.

(* ---- parts and order: threads, ranks, blocks, lanes ---- *)

Lemma total_app : forall a b, total (a ++ b) = add (total a) (total b).
Proof. induction a; simpl; intros; trivial. rewrite IHa, add_assoc; trivial. Qed.

(* Units may be taken in any order. *)
Theorem sum_in_any_order : forall a b, Permutation a b -> total a = total b.
Proof.
  induction 1; simpl; trivial.
  - rewrite IHPermutation; trivial.
  - rewrite !add_assoc, (add_comm y x); trivial.
  - congruence.
Qed.

(* However units are dealt out to parts (threads, ranks, blocks, lanes), in whichever order: the sum of the
   parts' sums is the same. *)
Theorem sum_of_parts : forall units parts, Permutation units (concat parts) ->
  total units = total (map total parts).
Proof.
  intros units parts H. rewrite (sum_in_any_order _ _ H). clear H.
  induction parts; simpl; trivial. rewrite total_app, IHparts; trivial.
Qed.

(* ---- neighbours ---- *)

Lemma one_apart : forall a k c, total (a ++ k :: c) = add k (total (a ++ c)).
Proof. intros. rewrite !total_app; simpl. rewrite add_assoc, (add_comm (total a) k), <- add_assoc; trivial.
  Qed.

(* A unit's numbers k are replaced by k': the sums are as far apart as k and k' (in L2, whatever the weights
   of the numbers). *)
Theorem substitution_moves_by_one_unit : forall w a k k' c,
  let S := total (a ++ k :: c) in let S' := total (a ++ k' :: c) in
  inner w (minus S S') (minus S S') = inner w (minus k k') (minus k k').
Proof.
  intros. subst S S'. rewrite !one_apart, !distance_of_inner. expand.
  rewrite !(inner_comm (total (a ++ c)) w k), !(inner_comm (total (a ++ c)) w k'). ring.
Qed.

(* The same in L1. *)
Theorem substitution_moves_by_one_unit_l1 : forall a k k' c,
  distance1 (total (a ++ k :: c)) (total (a ++ k' :: c)) = distance1 k k'.
Proof.
  intros. rewrite !one_apart. generalize (total (a ++ c)) as t. clear a c.
  unfold distance1, size1, minus. revert k'.
  assert (H0 : forall t, sum (map Z.abs (add t (times (-1) t))) = 0).
  { induction t as [|x t IH]; cbn [add times map sum]; trivial. rewrite IH. lia. }
  assert (H1 : forall l t, sum (map Z.abs (add (add l t) (times (-1) t))) = sum (map Z.abs l)).
  { induction l as [|x l IH]; intros [|y t]; cbn [add times map sum]; trivial.
    - rewrite H0; lia.
    - rewrite IH; f_equal; f_equal; ring. }
  assert (H2 : forall l t, sum (map Z.abs (add t (times (-1) (add l t)))) = sum (map Z.abs (times (-1) l))).
  { induction l as [|x l IH]; intros [|y t]; cbn [add times map sum]; trivial.
    - rewrite H0; lia.
    - rewrite IH; f_equal; f_equal; ring. }
  induction k as [|x k IH]; intros [|y k'] [|z t]; cbn [add times map sum]; trivial.
  - rewrite H0; lia.
  - rewrite H2. f_equal. f_equal. ring.
  - rewrite H1. f_equal. f_equal. ring.
  - rewrite IH. f_equal. f_equal. ring.
Qed.

(* A unit is added or removed: that is the substitution of its numbers by none, [], which add nothing. *)
Theorem add_remove_is_substitution_by_nothing : forall a k c,
  total (a ++ c) = total (a ++ [] :: c) /\ distance1 k [] = size1 k /\
  forall w, inner w (minus k []) (minus k []) = inner w k k.
Proof.
  intros. split; [|split].
  - rewrite one_apart; trivial.
  - unfold distance1, minus; simpl; rewrite add_nil; trivial.
  - intros; unfold minus; simpl; rewrite add_nil; trivial.
Qed.

(* Records drawn at random (theorem 4): whoever else is drawn, `drawn` says it, the sums of the drawn differ
   by k and k' or not at all. *)
Fixpoint those (drawn : list bool) (units : list (list Z)) : list (list Z) :=
  match drawn, units with
  | b :: drawn', k :: units' => (if b then k else []) :: those drawn' units'
  | _, _ => []
  end.

Theorem subset_moves_by_one_unit_or_not_at_all : forall w a k k' c drawn drawn' b, length drawn = length a ->
  let S := total (those (drawn ++ b :: drawn') (a ++ k :: c)) in
  let S' := total (those (drawn ++ b :: drawn') (a ++ k' :: c)) in
  inner w (minus S S') (minus S S') = if b then inner w (minus k k') (minus k k') else 0.
Proof.
  intros w a k k' c drawn drawn' b H. cbv zeta.
  assert (E : forall x, those (drawn ++ b :: drawn') (a ++ x :: c) = those drawn a ++ (if b then x else [])
    :: those drawn' c).
  { clear k k'. intros x. revert a H. induction drawn as [|e drawn IH]; intros [|k a] H; simpl in *;
      try discriminate; trivial. rewrite IH by lia; trivial. }
  rewrite !E. rewrite substitution_moves_by_one_unit. destruct b; trivial.
Qed.

(* ---- a whole number and noise: theorem 1's last step ---- *)

(* The nearest whole number to n / q, halves up. *)
Definition nearest (n q : Z) : Z := (2 * n + q) / (2 * q).

(* S + round(z) = round(S + z): what is released is a function of the continuous mechanism. *)
Theorem rounding_commutes_with_whole_numbers : forall S n q, 0 < q -> S + nearest n q = nearest (S * q + n) q.
Proof.
  intros. unfold nearest. replace (2 * (S * q + n) + q) with (2 * n + q + S * (2 * q)) by ring.
  rewrite Z.div_add by lia. ring.
Qed.

(* ---- widths of machine numbers ---- *)

Lemma sum_bound : forall u b, Forall (fun a => - b <= a <= b) u ->
  - (b * Z.of_nat (length u)) <= sum u <= b * Z.of_nat (length u).
Proof. induction 1; simpl length; simpl sum; nia. Qed.

(* s is a whole number of so many bits, one of them for the sign. *)
Definition fits (bits s : Z) : Prop := - 2 ^ (bits - 1) <= s < 2 ^ (bits - 1).

(* A lane of a part of at most 2^10 blocks gains at most 2^20 (vectors) or 2^51 (scalars, whole numbers) a block;
   one of 2^14 units at most 2^20 a unit. *)
Theorem lanes_fit : forall u,
  (Z.of_nat (length u) <= 2 ^ 10 -> Forall (fun a => - 2 ^ 20 <= a <= 2 ^ 20) u -> fits 32 (sum u)) /\
  (Z.of_nat (length u) <= 2 ^ 10 -> Forall (fun a => - 2 ^ 51 <= a <= 2 ^ 51) u -> fits 64 (sum u)) /\
  (Z.of_nat (length u) <= 2 ^ 14 -> Forall (fun a => - 2 ^ 20 <= a <= 2 ^ 20) u -> fits 64 (sum u)).
Proof. unfold fits. repeat split; apply sum_bound in H0; lia. Qed.

(* Up to 2^14 lanes of 32 bits are added in 64. *)
Theorem lanes_of_32_bits_fit_in_64 : forall u, Z.of_nat (length u) <= 2 ^ 14 -> Forall (fits 32) u ->
  fits 64 (sum u).
Proof.
  intros u n F. assert (G : Forall (fun a => - 2 ^ 31 <= a <= 2 ^ 31) u) by (eapply Forall_impl; [|exact F];
    unfold fits; simpl; lia).
  apply sum_bound in G. unfold fits. lia.
Qed.

(* What at most 2^62 units of at most 2^52 each add is below 2^114: totals of 128 bits hold it. *)
Theorem totals_fit : forall u, Z.of_nat (length u) <= 2 ^ 62 -> Forall (fun a => - 2 ^ 52 <= a <= 2 ^ 52) u ->
  - 2 ^ 114 <= sum u <= 2 ^ 114 /\ fits 128 (sum u).
Proof. intros u n F. apply sum_bound in F. unfold fits. lia. Qed.

(* Products of two whole numbers of at most 2^22, and of one of at most 2^26 with itself, fit in 64 bits. *)
Theorem products_fit : forall a b,
  (- 2 ^ 22 <= a <= 2 ^ 22 /\ - 2 ^ 22 <= b <= 2 ^ 22 -> - 2 ^ 44 <= a * b <= 2 ^ 44) /\
  (- 2 ^ 26 <= a <= 2 ^ 26 -> 0 <= a * a <= 2 ^ 52).
Proof. intros; split; nia. Qed.

(* Squares of up to 2^10 such fit in 64 bits without a sign. *)
Theorem squares_fit : forall u, Z.of_nat (length u) <= 2 ^ 10 ->
  Forall (fun a => - 2 ^ 26 <= a <= 2 ^ 26) u -> square u < 2 ^ 64.
Proof.
  intros u n F. assert (G : square u <= (2 ^ 26) ^ 2 * Z.of_nat (length u)); [clear n | lia].
  unfold square, dot. induction F as [|a u A F IH]; [simpl; lia|]. cbn [inner hd tl length].
    rewrite Nat2Z.inj_succ. nia.
Qed.

(* k of 64 bits is from - r to r just where k + r is at most 2 r as numbers without a sign, modulo 2^64. *)
Theorem a_range_modulo_2_64 : forall k r, fits 64 k -> 0 <= r < 2 ^ 62 ->
  (((k mod 2 ^ 64) + r) mod 2 ^ 64 <= 2 * r <-> - r <= k <= r).
Proof.
  unfold fits. intros k r K R. rewrite Zplus_mod_idemp_l.
  assert (E : (k + r) mod 2 ^ 64 = if k + r <? 0 then k + r + 2 ^ 64 else k + r).
  { destruct (Z.ltb_spec (k + r) 0).
    - rewrite <- (Z.mod_small (k + r + 2 ^ 64) (2 ^ 64)) by lia. rewrite <- (Z.mul_1_l (2 ^ 64)) at 2.
        rewrite Z.mod_add by lia. trivial.
    - apply Z.mod_small. lia. }
  rewrite E. destruct (Z.ltb_spec (k + r) 0); lia.
Qed.

(* Ranks send a sum of 128 bits as three numbers of 40 bits, the last with its sign, and add these. *)
Definition low x := x mod 2 ^ 40.
Definition middle x := (x / 2 ^ 40) mod 2 ^ 40.
Definition high x := x / 2 ^ 80.

Lemma limbs_are_the_number : forall x, (high x * 2 ^ 40 + middle x) * 2 ^ 40 + low x = x.
Proof.
  intros. unfold high, middle, low. replace (2 ^ 80) with (2 ^ 40 * 2 ^ 40) by reflexivity.
    rewrite <- Z.div_div by (simpl; lia).
  pose proof (Z.div_mod x (2 ^ 40)). pose proof (Z.div_mod (x / 2 ^ 40) (2 ^ 40)). lia.
Qed.

Theorem limbs_of_ranks_are_their_sum : forall x,
  (sum (map high x) * 2 ^ 40 + sum (map middle x)) * 2 ^ 40 + sum (map low x) = sum x.
Proof. induction x as [|a x IH]; simpl map; simpl sum; trivial. pose proof (limbs_are_the_number a). lia. Qed.

(* None of the three overflows 64 bits for up to 2^22 ranks whose sums are at most 2^120. *)
Theorem limbs_fit : forall x, Z.of_nat (length x) <= 2 ^ 22 ->
  Forall (fun a => - 2 ^ 120 <= a <= 2 ^ 120) x ->
  fits 64 (sum (map low x)) /\ fits 64 (sum (map middle x)) /\ fits 64 (sum (map high x)).
Proof.
  intros x n F.
  assert (B : forall f, (forall a, - 2 ^ 120 <= a <= 2 ^ 120 -> - 2 ^ 40 <= f a <= 2 ^ 40) ->
    fits 64 (sum (map f x))).
  { intros f H. assert (G : Forall (fun a => - 2 ^ 40 <= a <= 2 ^ 40) (map f x)) by
      (apply Forall_map; eapply Forall_impl; [exact H | exact F]).
    apply sum_bound in G. rewrite map_length in G. unfold fits. lia. }
  split; [|split]; apply B; intros a H.
  - unfold low. pose proof (Z.mod_pos_bound a (2 ^ 40)). lia.
  - unfold middle. pose proof (Z.mod_pos_bound (a / 2 ^ 40) (2 ^ 40)). lia.
  - unfold high. split; [apply Z.div_le_lower_bound | apply Z.div_le_upper_bound]; lia.
Qed.
