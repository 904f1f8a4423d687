(* Lemma 1.4 of src/door/README.md: a unit adds the upper triangle of A = sum_t v_t v_t', where sum_t |v_t|^2
   <= R^2, and entries off the diagonal get sqrt 2 less noise. The distance that counts is then that of
   weights 1 on the diagonal and 2 off it, which is the Frobenius norm of A - A'.

   Proof. The inner product of vv' and ww' is <v, w>^2. So |A|_F <= sum_t |v_t|^2 <= R^2, <A, A'> >= 0, and |A
   - A'|^2 = |A|^2 - 2 <A, A'> + |A'|^2 <= 2 R^4. *)
From Tacit Require Import Vectors Shapes.

(* By rows, as add_square() in src/door/shapes.c writes it: v_1 v_1, v_1 v_2, .., v_1 v_d, v_2 v_2, .. *)
Fixpoint triangle (v : list Z) : list Z := match v with [] => [] | a :: v' => times a (a :: v') ++ triangle
  v' end.

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

(* What a unit adds. *)
Fixpoint squares (vs : list (list Z)) : list Z := match vs with [] => [] | v :: rest => add (triangle v)
  (squares rest) end.

(* sum_t |v_t|^2, which is what is checked: the square of the length of all v_t written after each other. *)
Fixpoint all_squares (vs : list (list Z)) : Z := match vs with [] => 0 | v :: rest => square v + all_squares
  rest end.

Definition have_length (d : nat) (vs : list (list Z)) : Prop := Forall (fun v => length v = d) vs.

Lemma all_squares_is_the_square_of_all : forall vs, all_squares vs = square (concat vs).
Proof.
  induction vs as [|v vs IH]; simpl; trivial. rewrite IH. unfold square. symmetry. apply dot_app. trivial.
Qed.

Lemma all_squares_is_no_less_than_0 : forall vs, 0 <= all_squares vs.
Proof. intros. rewrite all_squares_is_the_square_of_all. apply square_is_no_less_than_0. Qed.

(* |A| <= sum_t |v_t|^2 *)
Lemma norm_is_at_most_trace : forall d vs, have_length d vs ->
  inner (weights d) (squares vs) (squares vs) <= all_squares vs ^ 2.
Proof.
  induction 1 as [|v vs E F IH]; [simpl; lia|]. cbn [squares all_squares].
  apply triangle_inequality; trivial.
  - apply weights_are_positive.
  - apply square_is_no_less_than_0.
  - apply all_squares_is_no_less_than_0.
  - rewrite <- E. rewrite inner_of_triangles by trivial. unfold square. lia.
Qed.

(* <A, A'> = sum of <v_s, w_t>^2 *)
Lemma inner_is_no_less_than_0 : forall d vs ws, have_length d vs -> have_length d ws ->
  0 <= inner (weights d) (squares vs) (squares ws).
Proof.
  intros d vs ws F G. induction F as [|v vs E F IH]; simpl; [lia|]. rewrite inner_add.
  assert (0 <= inner (weights d) (triangle v) (squares ws)); [clear IH F | lia].
  induction G as [|w ws E' G IH]; simpl; [rewrite inner_nil; lia|]. rewrite inner_add_r.
  subst d. rewrite inner_of_triangles by lia. assert (0 <= dot v w ^ 2) by nia. lia.
Qed.

Lemma squares_grow : forall p M x, 0 <= p <= M -> x <= p * p -> x <= M * M.
Proof. intros; nia. Qed.

(* |A - A'|^2 <= 2 R^4. The check is that of a ball, of all v_t after each other. *)
Theorem squares_substitute : forall d R vs ws, 0 <= R -> have_length d vs -> have_length d ws ->
  is_in_ball R (concat vs) = true -> is_in_ball R (concat ws) = true ->
  let difference := minus (squares vs) (squares ws) in inner (weights d) difference difference <= 2 * R ^ 4.
Proof.
  intros d R vs ws HR F G Hv Hw difference. apply the_check_is_the_ball in Hv, Hw; trivial.
  rewrite <- all_squares_is_the_square_of_all in Hv, Hw.
  pose proof (norm_is_at_most_trace d vs F) as A. pose proof (norm_is_at_most_trace d ws G) as B.
  pose proof (all_squares_is_no_less_than_0 vs). pose proof (all_squares_is_no_less_than_0 ws).
  pose proof (inner_is_no_less_than_0 d vs ws F G) as C.
  rewrite Z.pow_2_r in A, B. apply (squares_grow _ (R ^ 2)) in A; [|split; trivial].
    apply (squares_grow _ (R ^ 2)) in B; [|split; trivial].
  subst difference. rewrite distance_of_inner. replace (R ^ 4) with (R ^ 2 * R ^ 2) by ring.
  generalize dependent (R ^ 2). intros M. intros. lia.
Qed.

(* Against none: |A|^2 <= R^4. *)
Theorem squares_add_remove : forall d R vs, 0 <= R -> have_length d vs -> is_in_ball R (concat vs) = true ->
  let difference := minus (squares vs) [] in inner (weights d) difference difference <= R ^ 4.
Proof.
  intros d R vs HR F Hv difference. apply the_check_is_the_ball in Hv; trivial.
    rewrite <- all_squares_is_the_square_of_all in Hv.
  pose proof (norm_is_at_most_trace d vs F) as A. pose proof (all_squares_is_no_less_than_0 vs).
  rewrite Z.pow_2_r in A. apply (squares_grow _ (R ^ 2)) in A; [|split; trivial].
  subst difference. unfold minus. cbn [times]. rewrite add_nil. replace (R ^ 4) with (R ^ 2 * R ^ 2) by ring.
    trivial.
Qed.

(* That sqrt 2 less noise off the diagonal is the distance with these weights: with noise of sd s on the
   diagonal and t >= s / sqrt 2 off it, what a number moves in units of its own noise is, squared, x^2 / s^2
   on the diagonal, and at most 2 x^2 / s^2 off it. *)
Theorem less_noise_off_the_diagonal : forall x s t, 0 < s -> 0 < t -> s ^ 2 <= 2 * t ^ 2 ->
  x ^ 2 * s ^ 2 <= 2 * x ^ 2 * t ^ 2.
Proof. intros. nia. Qed.
