(* Lemmas 1.1 to 1.3 and theorem 2 of src/boundary/door/README.md: balls, boxes and cells. Checks are written as
   src/boundary/door/shapes.c makes them; a unit whose numbers fail one adds nothing, []. Of two units of which one adds
   nothing the bounds for units that are added or removed hold, which are no larger. *)
From Tacit Require Import Vectors.
Open Scope bool_scope.
Open Scope Z_scope.

(* A unit's numbers after its check. *)
Definition checked (is_inside : bool) (k : list Z) : list Z := if is_inside then k else [].

(* ---- 1.1: a ball ---- *)

Definition is_in_ball (R : Z) (k : list Z) : bool :=
  forallb (fun a => (- R <=? a) && (a <=? R)) k && (square k <=? R * R).

Lemma square_of_entry : forall k a, In a k -> a ^ 2 <= square k.
Proof.
  unfold square, dot. induction k as [|b k IH]; simpl; [tauto|].
  pose proof (square_is_no_less_than_0 k) as P. unfold square, dot in P. intros a [-> | H];
    [nia | specialize (IH a H); nia].
Qed.

(* What is checked is the ball itself, and what counts after the check lies in it. *)
Theorem the_check_is_the_ball : forall R k, 0 <= R ->
  (is_in_ball R k = true <-> square k <= R ^ 2) /\ square (checked (is_in_ball R k) k) <= R ^ 2.
Proof.
  intros R k HR.
  assert (E : is_in_ball R k = true <-> square k <= R ^ 2).
  { unfold is_in_ball. rewrite Bool.andb_true_iff, Z.leb_le. split; [intros [_ H]; lia | intros H; split;
      [|lia]].
    apply forallb_forall. intros a Ha. apply square_of_entry in Ha.
    rewrite Bool.andb_true_iff, !Z.leb_le. apply square_root_le; lia. }
  split; trivial. unfold checked. destruct (is_in_ball R k); [apply E; trivial | unfold square, dot; simpl;
    nia].
Qed.

(* |k| <= R and |k'| <= R: |k - k'| <= 2 R. *)
Theorem ball_substitute : forall R k k', square k <= R ^ 2 -> square k' <= R ^ 2 ->
  distance2 k k' <= (2 * R) ^ 2.
Proof.
  intros R k k' H H'. pose proof (square_is_no_less_than_0 (add k k')) as P. revert P H H'.
  expand. rewrite (inner_comm k' [] k). lia.
Qed.

(* Against none: |k| <= R. *)
Theorem ball_add_remove : forall R k, square k <= R ^ 2 -> distance2 k [] <= R ^ 2.
Proof. intros R k H. unfold distance2, minus. simpl. rewrite add_nil. trivial. Qed.

Lemma inner_ones : forall u n, (length u <= n)%nat -> inner [] (map Z.abs u) (repeat 1 n) = size1 u.
Proof.
  unfold size1. induction u as [|a u IH]; intros [|n] H; simpl in *; trivial; [lia|]. rewrite IH by lia. ring.
Qed.

Lemma square_of_ones : forall n, square (repeat 1 n) = Z.of_nat n.
Proof. unfold square, dot. induction n; [trivial|]. cbn [repeat inner hd tl]. rewrite IHn. lia. Qed.

Lemma square_of_sizes : forall u, square (map Z.abs u) = square u.
Proof. unfold square, dot. induction u as [|a u IH]; simpl; trivial. rewrite IH. nia. Qed.

(* In L1 a vector of d numbers is at most sqrt d times as long: |u|_1^2 <= d |u|_2^2. *)
Theorem l1_is_at_most_root_d_l2 : forall u, size1 u ^ 2 <= Z.of_nat (length u) * square u.
Proof.
  intros. rewrite <- (inner_ones u (length u)) by lia.
  rewrite <- (square_of_ones (length u)), <- (square_of_sizes u), Z.mul_comm. apply cauchy_schwarz,
    square_of_none.
Qed.

(* Truncated toward 0, a vector n / q of fractions becomes no longer: what was clipped in floats is still in
   the ball as whole numbers. *)
Theorem truncation_shortens : forall q n, 0 < q -> q ^ 2 * square (map (fun a => Z.quot a q) n) <= square n.
Proof.
  intros q n Hq. unfold square, dot. induction n as [|a n IH]; cbn [map inner hd tl]; [lia|].
  assert (q * Z.abs (Z.quot a q) <= Z.abs a) by (rewrite <- Z.quot_abs by lia; rewrite (Z.abs_eq q) by lia;
    apply Z.mul_quot_le; lia).
  assert (q ^ 2 * (Z.quot a q * Z.quot a q) <= a * a).
  { rewrite <- (Z.abs_square a), <- (Z.abs_square (Z.quot a q)).
    replace (q ^ 2 * (Z.abs (Z.quot a q) * Z.abs (Z.quot a q))) with ((q * Z.abs (Z.quot a q)) * (q * Z.abs
      (Z.quot a q))) by ring.
    apply Z.mul_le_mono_nonneg; lia. }
  lia.
Qed.

(* ---- 1.2: a box ---- *)

Definition is_in_box (low high : Z) (k : list Z) : bool := forallb (fun a => (low <=? a) && (a <=? high)) k.

Lemma in_box : forall low high k, is_in_box low high k = true -> Forall (fun a => low <= a <= high) k.
Proof.
  intros low high k H. apply Forall_forall. intros a Ha. unfold is_in_box in H.
  rewrite forallb_forall in H. specialize (H a Ha). rewrite Bool.andb_true_iff, !Z.leb_le in H. trivial.
Qed.

Lemma box_entries : forall low high k k', Forall (fun a => low <= a <= high) k ->
  Forall (fun a => low <= a <= high) k' -> length k = length k' ->
  Forall (fun a => - (high - low) <= a <= high - low) (minus k k') /\ length (minus k k') = length k.
Proof.
  unfold minus. induction k as [|a k IH]; destruct k' as [|b k']; simpl; intros F F' E; try discriminate;
    [split; trivial; constructor|].
  inversion F; inversion F'; subst. destruct (IH k') as [G L]; trivial; [lia|]. rewrite L. split; trivial.
    constructor; [lia | trivial].
Qed.

Lemma square_of_entries : forall u s, Forall (fun a => - s <= a <= s) u ->
  square u <= s ^ 2 * Z.of_nat (length u).
Proof. unfold square, dot. induction 1; [simpl; lia|]. cbn [inner hd tl length]. rewrite Nat2Z.inj_succ. nia.
  Qed.

Lemma size_of_entries : forall u s, Forall (fun a => - s <= a <= s) u -> size1 u <= s * Z.of_nat (length u).
Proof. unfold size1. induction 1; [simpl; lia|]. cbn [map sum length]. rewrite Nat2Z.inj_succ. nia. Qed.

(* d numbers from low to high: |k - k'|_2^2 <= (high - low)^2 d; theorem 2: |k - k'|_1 <= (high - low) d. *)
Theorem box_substitute : forall low high k k', is_in_box low high k = true ->
  is_in_box low high k' = true -> length k = length k' ->
  distance2 k k' <= (high - low) ^ 2 * Z.of_nat (length k) /\
    distance1 k k' <= (high - low) * Z.of_nat (length k).
Proof.
  intros low high k k' H H' E. apply in_box in H, H'. destruct (box_entries low high k k') as [G L]; trivial.
  rewrite <- L. split; [apply square_of_entries | apply size_of_entries]; trivial.
Qed.

(* Against none: max(high, - low) for high - low. *)
Theorem box_add_remove : forall low high k, is_in_box low high k = true ->
  distance2 k [] <= Z.max high (- low) ^ 2 * Z.of_nat (length k) /\
    distance1 k [] <= Z.max high (- low) * Z.of_nat (length k).
Proof.
  intros low high k H. apply in_box in H. unfold distance2, distance1, minus. simpl. rewrite add_nil.
  split; [apply square_of_entries | apply size_of_entries]; (eapply Forall_impl; [|exact H]); simpl; lia.
Qed.

(* ---- 1.3: cells ---- *)

(* Cells are numbered from 1 to d; those that are none are passed over, the others must rise. *)
Fixpoint do_cells_rise (d last : Z) (k : list Z) : bool :=
  match k with
  | [] => true
  | a :: k' => if (1 <=? a) && (a <=? d) then (last <? a) && do_cells_rise d a k' else do_cells_rise d last k'
  end.

(* How often cell j is named, and what a unit adds to the cells: R for each time. *)
Fixpoint times_named (j : Z) (k : list Z) : Z :=
  match k with [] => 0 | a :: k' => (if a =? j then 1 else 0) + times_named j k' end.
Definition cells (d : nat) : list Z := map Z.of_nat (seq 1 d).
Definition gains (d : nat) (R : Z) (k : list Z) : list Z := map (fun j => R * times_named j k) (cells d).

Lemma named_once : forall d k last, do_cells_rise d last k = true -> forall j, 1 <= j <= d ->
  0 <= times_named j k <= 1 /\ (j <= last -> times_named j k = 0).
Proof.
  induction k as [|a k IH]; simpl; intros last H j Hj; [lia|].
  destruct ((1 <=? a) && (a <=? d)) eqn:C.
  - apply andb_prop in H. destruct H as [L H]. rewrite Z.ltb_lt in L. destruct (IH a H j Hj) as [P Q].
    destruct (Z.eqb_spec a j) as [-> | N]; [specialize (Q (Z.le_refl j)); lia|]. split; [lia | intros;
      apply Q; lia].
  - destruct (Z.eqb_spec a j) as [-> | N].
    + rewrite Bool.andb_false_iff, !Z.leb_gt in C. lia.
    + apply (IH last H j Hj).
Qed.

Lemma all_named : forall k a n, sum (map (fun j => times_named j k) (map Z.of_nat (seq a n))) <= Z.of_nat
  (length k).
Proof.
  intros k a n. induction k as [|c k IH].
  - simpl. clear. revert a. induction n; simpl; intros; [lia|]. specialize (IHn (S a)). lia.
  - assert (E : forall l, sum (map (fun j => times_named j (c :: k)) l) = sum (map (fun j => if c =? j then 1
      else 0) l) + sum (map (fun j => times_named j k) l)).
    { clear. induction l; simpl in *; trivial. rewrite IHl. ring. }
    rewrite E.
    assert (H : forall b, 0 <= sum (map (fun j => if c =? j then 1 else 0) (map Z.of_nat (seq b n))) <= 1 /\
                (c < Z.of_nat b ->
  sum (map (fun j => if c =? j then 1 else 0) (map Z.of_nat (seq b n))) = 0)).
    { clear. induction n; intros b; [simpl; lia|]. cbn [seq map sum]. destruct (IHn (S b)) as [P Q].
      destruct (Z.eqb_spec c (Z.of_nat b)); [rewrite Q by lia; lia | split; [lia | intros; rewrite Q; lia]]. }
    specialize (H a). cbn [length]. lia.
Qed.

(* Of numbers that are 0 or 1: what sums of their differences are. *)
Lemma differences : forall R l (f g : Z -> Z), 0 <= R -> (forall j, In j l -> 0 <= f j <= 1) ->
  (forall j, In j l -> 0 <= g j <= 1) ->
  let u := minus (map (fun j => R * f j) l) (map (fun j => R * g j) l) in
  let n := sum (map f l) + sum (map g l) in
  square u <= n * R ^ 2 /\ size1 u <= n * R /\ count_nonzero u <= n /\ Forall (fun a => - R <= a <= R) u.
Proof.
  intros R l f g HR. unfold minus, square, dot, size1, count_nonzero. induction l as [|j l IH]; intros Hf Hg.
  - simpl; repeat split; try lia; constructor.
  - destruct IH as (A & B & C & D); [intros; apply Hf; right; trivial | intros; apply Hg; right; trivial |].
    specialize (Hf j (or_introl eq_refl)). specialize (Hg j (or_introl eq_refl)).
    cbn [map times add inner hd tl sum].
    assert (X : f j = 0 \/ f j = 1) by lia. assert (Y : g j = 0 \/ g j = 1) by lia.
    destruct X as [X | X], Y as [Y | Y]; rewrite X, Y in *;
      (repeat split; [nia | nia | | constructor; [nia | trivial]]); destruct (_ =? 0) eqn:E; try lia;
      rewrite Z.eqb_neq in E; lia.
Qed.

(* In up to t cells, all different, R in each: |k - k'|_2^2 <= 2 t R^2 and, theorem 2, |k - k'|_1 <= 2 t R; at
   most 2 t numbers move, each by at most R (so for R = 1 a release with discrete noise is 2 t releases that
   move by one). *)
Theorem cells_substitute : forall d R t k k', 0 <= R -> do_cells_rise (Z.of_nat d) 0 k = true ->
  do_cells_rise (Z.of_nat d) 0 k' = true ->
  Z.of_nat (length k) <= t -> Z.of_nat (length k') <= t ->
  let u := minus (gains d R k) (gains d R k') in
  square u <= 2 * t * R ^ 2 /\ size1 u <= 2 * t * R /\ count_nonzero u <= 2 * t /\
    Forall (fun a => - R <= a <= R) u.
Proof.
  intros d R t k k' HR H H' L L' u.
  assert (C : forall j, In j (cells d) -> 1 <= j <= Z.of_nat d).
  { intros j I. apply in_map_iff in I. destruct I as (i & <- & I). apply in_seq in I. lia. }
  destruct (differences R (cells d) (fun j => times_named j k) (fun j => times_named j k')) as (A & B & D &
    E); trivial.
  - intros j I. apply (named_once _ _ _ H j (C j I)).
  - intros j I. apply (named_once _ _ _ H' j (C j I)).
  - pose proof (all_named k 1 d). pose proof (all_named k' 1 d). fold (cells d) in *.
    fold (gains d R k) in *. fold (gains d R k') in *. fold u in A, B, D, E.
    repeat split; [nia | nia | lia | trivial].
Qed.

(* Against none: t for 2 t. *)
Theorem cells_add_remove : forall d R t k, 0 <= R -> do_cells_rise (Z.of_nat d) 0 k = true ->
  Z.of_nat (length k) <= t ->
  let u := minus (gains d R k) [] in
  square u <= t * R ^ 2 /\ size1 u <= t * R /\ count_nonzero u <= t /\ Forall (fun a => - R <= a <= R) u.
Proof.
  intros d R t k HR H L u.
  assert (C : forall j, In j (cells d) -> 1 <= j <= Z.of_nat d).
  { intros j I. apply in_map_iff in I. destruct I as (i & <- & I). apply in_seq in I. lia. }
  destruct (differences R (cells d) (fun j => times_named j k) (fun _ => 0)) as (A & B & D & E); trivial.
  - intros j I. apply (named_once _ _ _ H j (C j I)).
  - intros; lia.
  - assert (Zr : sum (map (fun _ : Z => 0) (cells d)) = 0) by (clear; induction (cells d); simpl; lia).
    pose proof (all_named k 1 d). fold (cells d) in *. rewrite Zr in *.
    assert (U : u = minus (gains d R k) (map (fun _ : Z => R * 0) (cells d))).
    { subst u. unfold minus. simpl. rewrite add_nil. unfold gains. generalize (cells d). clear.
      induction l; simpl; trivial. rewrite <- IHl. f_equal. ring. }
    rewrite U. fold (gains d R k) in A, B, D, E. repeat split; [nia | nia | lia | trivial].
Qed.
