(* Lemma 1.4 of src/boundary/door/README.md: a unit adds the upper triangle of A = sum_t v_t v_t', where
   sum_t |v_t|^2 <= R^2, and entries off the diagonal get sqrt 2 less noise. The distance that counts is then that
   of weights 1 on the diagonal and 2 off it, which is the Frobenius norm of A - A'. Or there are several such
   matrices, blocks, and each v_t says to which its square is added.

   Proof. The inner product of vv' and ww' is <v, w>^2, or 0 if they are in different blocks. So
   |A| <= sum_t |v_t|^2 <= R^2, <A, A'> >= 0, and |A - A'|^2 = |A|^2 - 2 <A, A'> + |A'|^2 <= 2 R^4. *)
From Tacit Require Import Vectors Shapes.

(* By rows, as add_square() in src/boundary/door/shapes.c writes it: v_1 v_1, v_1 v_2, .., v_1 v_d, v_2 v_2, .. *)
Fixpoint triangle (v : list Z) : list Z :=
  match v with [] => [] | a :: v' => times a (a :: v') ++ triangle v' end.

(* 1 on the diagonal, 2 off it. *)
Fixpoint weights (d : nat) : list Z := match d with O => [] | S d' => 1 :: repeat 2 d' ++ weights d' end.

Lemma weights_are_positive : forall d, no_less_than_0 (weights d).
Proof.
  unfold no_less_than_0. induction d; simpl; constructor; [lia|]. apply Forall_app. split; trivial.
  apply Forall_forall. intros x H. apply repeat_spec in H. lia.
Qed.

Lemma length_of_times : forall c u, length (times c u) = length u.
Proof. induction u; simpl; lia. Qed.

Lemma inner_of_twos : forall n u v, length u = n -> length v = n -> inner (repeat 2 n) u v = 2 * dot u v.
Proof.
  unfold dot. induction n; destruct u, v; simpl; intros; try discriminate; trivial. rewrite IHn by lia. ring.
Qed.

(* <vv', ww'> = <v, w>^2 *)
Lemma inner_of_triangles : forall v w, length v = length w ->
  inner (weights (length v)) (triangle v) (triangle w) = dot v w ^ 2.
Proof.
  induction v as [|a v IH]; destruct w as [|b w]; simpl; intros E; try discriminate; trivial.
  rewrite inner_app by (rewrite ?repeat_length, !length_of_times; lia).
  rewrite IH by lia.
  rewrite inner_of_twos by (rewrite length_of_times; lia).
  unfold dot. rewrite inner_times, inner_times_r. cbn [inner hd tl]. ring.
Qed.

(* ---- blocks: B triangles of n numbers each, one after another ---- *)

Fixpoint in_block (b n : nat) (x : list Z) : list Z :=
  match b with O => x | S b' => repeat 0 n ++ in_block b' n x end.
Fixpoint block_weights (B d : nat) : list Z :=
  match B with O => [] | S B' => weights d ++ block_weights B' d end.

Lemma length_of_triangle : forall v, length (triangle v) = length (weights (length v)).
Proof. induction v; simpl; trivial. rewrite !app_length, length_of_times, repeat_length. lia. Qed.

Lemma inner_of_zeros : forall n w x, inner w (repeat 0 n) x = 0.
Proof. induction n; destruct x; simpl; trivial. rewrite IHn. ring. Qed.

(* What is added to different blocks does not meet. *)
Lemma inner_of_blocks : forall B d b c x y, (b < B)%nat -> (c < B)%nat ->
  length x = length (weights d) -> length y = length (weights d) ->
  inner (block_weights B d) (in_block b (length (weights d)) x) (in_block c (length (weights d)) y) =
    if Nat.eqb b c then inner (weights d) x y else 0.
Proof.
  induction B; intros d b c x y Hb Hc Hx Hy; [lia|]. cbn [block_weights]. destruct b, c;
    cbn [in_block Nat.eqb].
  - rewrite <- (app_nil_r x), <- (app_nil_r y) at 1. rewrite inner_app, inner_nil by congruence. ring.
  - rewrite <- (app_nil_r x). rewrite inner_app by (rewrite ?repeat_length; congruence).
    rewrite inner_comm, inner_of_zeros. simpl. ring.
  - rewrite <- (app_nil_r y). rewrite inner_app by (rewrite ?repeat_length; congruence).
    rewrite inner_of_zeros, inner_nil. ring.
  - rewrite inner_app by (rewrite !repeat_length; trivial). rewrite inner_of_zeros, IHB by lia. ring.
Qed.

(* A unit's vectors, each with the number of its block, and what the unit adds; with one block all numbers
   are 0. *)
Definition row : Type := nat * list Z.
Definition square_of (d : nat) (r : row) : list Z := in_block (fst r) (length (weights d)) (triangle (snd r)).
Fixpoint squares (d : nat) (rows : list row) : list Z :=
  match rows with [] => [] | r :: rest => add (square_of d r) (squares d rest) end.

(* All v_t written after each other: what is checked. *)
Definition all_of (rows : list row) : list Z := concat (map snd rows).

(* sum_t |v_t|^2 *)
Fixpoint trace (rows : list row) : Z :=
  match rows with [] => 0 | r :: rest => square (snd r) + trace rest end.

Definition are_rows (B d : nat) (rows : list row) : Prop :=
  Forall (fun r => (fst r < B)%nat /\ length (snd r) = d) rows.

Lemma trace_is_the_square_of_all : forall rows, trace rows = square (all_of rows).
Proof.
  unfold all_of. induction rows as [|r rows IH]; simpl; trivial. rewrite IH. unfold square. symmetry.
    apply dot_app. trivial.
Qed.

Lemma trace_is_no_less_than_0 : forall rows, 0 <= trace rows.
Proof. intros. rewrite trace_is_the_square_of_all. apply square_is_no_less_than_0. Qed.

Lemma block_weights_are_positive : forall B d, no_less_than_0 (block_weights B d).
Proof.
  unfold no_less_than_0. induction B; simpl; intros; [constructor|]. apply Forall_app. split;
    [apply weights_are_positive | apply IHB].
Qed.

Lemma inner_of_squares : forall B d r s, are_rows B d [r; s] ->
  inner (block_weights B d) (square_of d r) (square_of d s) = if Nat.eqb (fst r) (fst s) then dot (snd r)
    (snd s) ^ 2 else 0.
Proof.
  intros B d [b v] [c w] F. inversion F as [|? ? [Hb Lv] G]; inversion G as [|? ? [Hc Lw] _]; subst.
    simpl in *.
  unfold square_of. cbn [fst snd].
  rewrite inner_of_blocks; trivial; [| apply length_of_triangle | rewrite length_of_triangle, Lw; trivial].
  destruct (Nat.eqb b c); trivial. apply inner_of_triangles. congruence.
Qed.

(* |A| <= sum_t |v_t|^2 *)
Lemma norm_is_at_most_trace : forall B d rows, are_rows B d rows ->
  inner (block_weights B d) (squares d rows) (squares d rows) <= trace rows ^ 2.
Proof.
  induction 1 as [|r rows E F IH]; [simpl; lia|]. cbn [squares trace].
  apply triangle_inequality; trivial.
  - apply block_weights_are_positive.
  - apply square_is_no_less_than_0.
  - apply trace_is_no_less_than_0.
  - rewrite inner_of_squares by (repeat constructor; apply E). rewrite Nat.eqb_refl. unfold square. lia.
Qed.

(* <A, A'> = sum of <v_s, w_t>^2 where the blocks are the same *)
Lemma inner_is_no_less_than_0 : forall B d rows rows', are_rows B d rows -> are_rows B d rows' ->
  0 <= inner (block_weights B d) (squares d rows) (squares d rows').
Proof.
  intros B d rows rows' F G. induction F as [|r rows E F IH]; simpl; [lia|]. rewrite inner_add.
  assert (0 <= inner (block_weights B d) (square_of d r) (squares d rows')); [clear IH F | lia].
  induction G as [|s rows' E' G IH]; simpl; [rewrite inner_nil; lia|]. rewrite inner_add_r.
  rewrite inner_of_squares by (repeat constructor; tauto).
  assert (0 <= dot (snd r) (snd s) ^ 2) by nia. destruct (Nat.eqb (fst r) (fst s)); lia.
Qed.

Lemma squares_grow : forall p M x, 0 <= p <= M -> x <= p * p -> x <= M * M.
Proof. intros; nia. Qed.

(* |A - A'|^2 <= 2 R^4. The check is that of a ball, of all v_t after each other. *)
Theorem squares_substitute : forall B d R rows rows', 0 <= R -> are_rows B d rows -> are_rows B d rows' ->
  is_in_ball R (all_of rows) = true -> is_in_ball R (all_of rows') = true ->
  let difference := minus (squares d rows) (squares d rows') in
  inner (block_weights B d) difference difference <= 2 * R ^ 4.
Proof.
  intros B d R rows rows' HR F G Hv Hw difference. apply the_check_is_the_ball in Hv, Hw; trivial.
  rewrite <- trace_is_the_square_of_all in Hv, Hw.
  pose proof (norm_is_at_most_trace B d rows F) as X. pose proof (norm_is_at_most_trace B d rows' G) as Y.
  pose proof (trace_is_no_less_than_0 rows). pose proof (trace_is_no_less_than_0 rows').
  pose proof (inner_is_no_less_than_0 B d rows rows' F G) as C.
  rewrite Z.pow_2_r in X, Y. apply (squares_grow _ (R ^ 2)) in X; [|split; trivial].
  apply (squares_grow _ (R ^ 2)) in Y; [|split; trivial].
  subst difference. rewrite distance_of_inner. replace (R ^ 4) with (R ^ 2 * R ^ 2) by ring.
  generalize dependent (R ^ 2). intros M. intros. lia.
Qed.

(* Against none: |A|^2 <= R^4. *)
Theorem squares_add_remove : forall B d R rows, 0 <= R -> are_rows B d rows ->
  is_in_ball R (all_of rows) = true ->
  let difference := minus (squares d rows) [] in inner (block_weights B d) difference difference <= R ^ 4.
Proof.
  intros B d R rows HR F Hv difference. apply the_check_is_the_ball in Hv; trivial.
  rewrite <- trace_is_the_square_of_all in Hv.
  pose proof (norm_is_at_most_trace B d rows F) as X. pose proof (trace_is_no_less_than_0 rows).
  rewrite Z.pow_2_r in X. apply (squares_grow _ (R ^ 2)) in X; [|split; trivial].
  subst difference. unfold minus. cbn [times]. rewrite add_nil. replace (R ^ 4) with (R ^ 2 * R ^ 2) by ring.
    trivial.
Qed.

(* That sqrt 2 less noise off the diagonal is the distance with these weights: with noise of sd s on the
   diagonal and t >= s / sqrt 2 off it, what a number moves in units of its own noise is, squared, x^2 / s^2
   on the diagonal, and at most 2 x^2 / s^2 off it. *)
Theorem less_noise_off_the_diagonal : forall x s t, 0 < s -> 0 < t -> s ^ 2 <= 2 * t ^ 2 ->
  x ^ 2 * s ^ 2 <= 2 * x ^ 2 * t ^ 2.
Proof. intros. nia. Qed.
