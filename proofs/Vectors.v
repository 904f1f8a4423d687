(* Vectors of whole numbers, as lists; what a list does not reach is 0. Nothing here is about privacy: sums,
   lengths and inequalities that the other files need. A Theorem is what C relies on, and is named there; a
   Lemma is a step to one. *)
From Coq Require Export ZArith List Lia Permutation.
Export ListNotations.
Open Scope bool_scope.
Open Scope Z_scope.
Global Arguments Z.mul : simpl never.
Global Arguments Z.pow : simpl never.

Fixpoint add (u v : list Z) : list Z :=
  match u, v with
  | [], _ => v
  | _, [] => u
  | a :: u', b :: v' => (a + b) :: add u' v'
  end.

Fixpoint times (c : Z) (u : list Z) : list Z := match u with [] => [] | a :: u' => c * a :: times c u' end.
Definition minus (u v : list Z) : list Z := add u (times (-1) v).
Fixpoint sum (u : list Z) : Z := match u with [] => 0 | a :: u' => a + sum u' end.

(* The inner product w_1 u_1 v_1 + w_2 u_2 v_2 + ...; past the last weight, weights are 1. *)
Fixpoint inner (w u v : list Z) : Z :=
  match u, v with
  | a :: u', b :: v' => hd 1 w * a * b + inner (tl w) u' v'
  | _, _ => 0
  end.

Definition dot (u v : list Z) : Z := inner [] u v.
Definition square (u : list Z) : Z := dot u u.                             (* |u|_2 ^ 2 *)
Definition distance2 (u v : list Z) : Z := square (minus u v).             (* |u - v|_2 ^ 2 *)
Definition size1 (u : list Z) : Z := sum (map Z.abs u).                    (* |u|_1 *)
Definition distance1 (u v : list Z) : Z := size1 (minus u v).              (* |u - v|_1 *)
Definition count_nonzero (u : list Z) : Z := sum (map (fun a => if a =? 0 then 0 else 1) u).

(* ---- sums ---- *)

Lemma add_nil : forall u, add u [] = u.
Proof. destruct u; reflexivity. Qed.

Lemma add_comm : forall u v, add u v = add v u.
Proof. induction u; destruct v; simpl; trivial. rewrite IHu; f_equal; ring. Qed.

Lemma add_assoc : forall u v w, add u (add v w) = add (add u v) w.
Proof. induction u; destruct v, w; simpl; trivial. rewrite IHu; f_equal; ring. Qed.

(* ---- the inner product ---- *)

Lemma inner_nil : forall w u, inner w u [] = 0.
Proof. destruct u; reflexivity. Qed.

Lemma inner_comm : forall u w v, inner w u v = inner w v u.
Proof. induction u; destruct v; simpl; trivial. rewrite IHu; ring. Qed.

Lemma inner_add : forall u w u' v, inner w (add u u') v = inner w u v + inner w u' v.
Proof.
  induction u as [|a u IH]; intros w [|b u'] [|c v]; simpl; try ring. rewrite IH; ring.
Qed.

Lemma inner_times : forall u w c v, inner w (times c u) v = c * inner w u v.
Proof. induction u; destruct v; simpl; try ring. rewrite IHu; ring. Qed.

Lemma inner_times_r : forall u w c v, inner w v (times c u) = c * inner w v u.
Proof. intros; rewrite inner_comm, inner_times, inner_comm; ring. Qed.

Lemma inner_add_r : forall u w u' v, inner w v (add u u') = inner w v u + inner w v u'.
Proof. intros; rewrite inner_comm, inner_add, !(inner_comm v); trivial. Qed.

Ltac expand := unfold distance2, square, dot, minus;
  repeat first [rewrite inner_add | rewrite inner_add_r | rewrite inner_times | rewrite inner_times_r].

Lemma inner_app : forall w x x' w' y y', length w = length x -> length x = length x' ->
  inner (w ++ w') (x ++ y) (x' ++ y') = inner w x x' + inner w' y y'.
Proof.
  induction w; destruct x, x'; simpl; intros; try discriminate; trivial.
  rewrite IHw by lia; ring.
Qed.

Lemma dot_app : forall x x' y y', length x = length x' -> dot (x ++ y) (x' ++ y') = dot x x' + dot y y'.
Proof.
  unfold dot; induction x; destruct x'; simpl; intros; try discriminate; trivial.
  rewrite IHx by lia; ring.
Qed.

Definition no_less_than_0 (w : list Z) : Prop := Forall (fun a => 0 <= a) w.

Lemma inner_square : forall u w, no_less_than_0 w -> 0 <= inner w u u.
Proof.
  induction u as [|a u IH]; simpl; intros w Hw; [lia|].
  assert (0 <= hd 1 w) by (inversion Hw; simpl; lia).
  assert (0 <= inner (tl w) u u) by (apply IH; inversion Hw; simpl; trivial; constructor).
  nia.
Qed.

Lemma square_of_none : no_less_than_0 [].
Proof. constructor. Qed.

Lemma square_is_no_less_than_0 : forall u, 0 <= square u.
Proof. intros; apply inner_square, square_of_none. Qed.

(* <u, v>^2 <= |u|^2 |v|^2 *)
Lemma cauchy_schwarz : forall w u v, no_less_than_0 w -> inner w u v ^ 2 <= inner w u u * inner w v v.
Proof.
  intros w u v Hw.
  assert (H : forall s t, 0 <= s ^ 2 * inner w u u - 2 * s * t * inner w u v + t ^ 2 * inner w v v).
  { intros s t. pose proof (inner_square (add (times s u) (times (- t) v)) w Hw) as P. revert P.
    expand. rewrite (inner_comm v w u). lia. }
  pose proof (inner_square u w Hw). pose proof (inner_square v w Hw).
  set (uu := inner w u u) in *; set (uv := inner w u v) in *; set (vv := inner w v v) in *.
  destruct (Z.eq_dec vv 0) as [E | E].
  - pose proof (H 1 (uv * (uu + 1))) as P. rewrite E in P. nia.
  - pose proof (H vv uv) as P. replace (vv ^ 2 * uu - 2 * vv * uv * uv + uv ^ 2 * vv) with (vv * (vv * uu -
      uv ^ 2)) in P by ring. nia.
Qed.

Lemma square_root_le : forall a b, 0 <= b -> a ^ 2 <= b ^ 2 -> - b <= a <= b.
Proof. intros; nia. Qed.

(* |<u, v>| <= p q where |u| <= p and |v| <= q *)
Lemma inner_bound : forall w u v p q, no_less_than_0 w -> 0 <= p -> 0 <= q -> inner w u u <= p ^ 2 ->
  inner w v v <= q ^ 2 ->
  - (p * q) <= inner w u v <= p * q.
Proof.
  intros w u v p q Hw Hp Hq Hu Hv. apply square_root_le; [nia|].
  pose proof (cauchy_schwarz w u v Hw). pose proof (inner_square u w Hw). pose proof (inner_square v w Hw).
  replace ((p * q) ^ 2) with (p ^ 2 * q ^ 2) by ring. nia.
Qed.

(* |u + v| <= p + q *)
Lemma triangle_inequality : forall w u v p q, no_less_than_0 w -> 0 <= p -> 0 <= q ->
  inner w u u <= p ^ 2 -> inner w v v <= q ^ 2 ->
  inner w (add u v) (add u v) <= (p + q) ^ 2.
Proof.
  intros w u v p q Hw Hp Hq Hu Hv. pose proof (inner_bound w u v p q Hw Hp Hq Hu Hv).
  expand. rewrite (inner_comm v w u). nia.
Qed.

Lemma distance_of_inner : forall w u v, inner w (minus u v) (minus u v) = inner w u u - 2 * inner w u v +
  inner w v v.
Proof. intros; expand. rewrite (inner_comm v w u). ring. Qed.
