(* Lemma 3.2 of src/boundary/door/README.md with real numbers: clipping to a ball moves no two vectors apart, and how
   far a product of two clipped vectors moves. Real numbers are the standard library's, which rest on
   axioms of classical mathematics (README.md). *)
From Coq Require Import Reals List Lra.
Import ListNotations.
Open Scope R_scope.

Fixpoint plus (u v : list R) : list R :=
  match u, v with [], _ => v | _, [] => u | a :: u', b :: v' => (a + b) :: plus u' v' end.
Definition scale (c : R) (u : list R) : list R := map (Rmult c) u.
Definition less (u v : list R) : list R := plus u (scale (-1) v).
Fixpoint dot (u v : list R) : R := match u, v with a :: u', b :: v' => a * b + dot u' v' | _, _ => 0 end.
Definition square (u : list R) : R := dot u u.

(* u where it is at most c long, else c u / |u|. *)
Definition clip (c : R) (u : list R) : list R :=
  if Rle_dec (square u) (c * c) then u else scale (c / sqrt (square u)) u.

Lemma dot_comm : forall u v, dot u v = dot v u.
Proof. induction u; destruct v; simpl; trivial. rewrite IHu. ring. Qed.

Lemma dot_plus : forall u v w, dot (plus u v) w = dot u w + dot v w.
Proof. induction u as [|a u IH]; intros [|b v] [|c w]; simpl; try rewrite IH; ring. Qed.

Lemma dot_scale : forall c u w, dot (scale c u) w = c * dot u w.
Proof. unfold scale. induction u as [|a u IH]; intros [|b w]; simpl; try rewrite IH; ring. Qed.

Lemma dot_plus_r : forall u v w, dot w (plus u v) = dot w u + dot w v.
Proof. intros. rewrite dot_comm, dot_plus, !(dot_comm w). ring. Qed.

Lemma dot_scale_r : forall c u w, dot w (scale c u) = c * dot w u.
Proof. intros. rewrite dot_comm, dot_scale, (dot_comm w). ring. Qed.

Ltac expand := unfold square, less in *; repeat rewrite ?dot_plus, ?dot_plus_r, ?dot_scale, ?dot_scale_r in *.

Lemma square_is_no_less_than_0 : forall u, 0 <= square u.
Proof. unfold square. induction u; simpl; [lra | nra]. Qed.

Lemma dot_bound : forall u v p q, 0 <= p -> 0 <= q -> square u <= p * p -> square v <= q * q ->
  Rabs (dot u v) <= p * q.
Proof.
  intros u v p q Hp Hq Hu Hv.
  assert (A : forall s t, 0 <= s * s * square u + 2 * (s * t) * dot u v + t * t * square v).
  { intros s t. pose proof (square_is_no_less_than_0 (plus (scale s u) (scale t v))) as P. expand.
    rewrite (dot_comm v u) in P. lra. }
  assert (C : dot u v * dot u v <= square u * square v).
  { pose proof (square_is_no_less_than_0 u). pose proof (square_is_no_less_than_0 v).
    destruct (Rle_lt_or_eq_dec 0 (square v)) as [V | V]; trivial.
    - pose proof (A (square v) (- dot u v)) as P.
      assert (0 <= square v * (square v * square u - dot u v * dot u v)) by lra.
      apply Rnot_lt_le. intros L. assert (square v * (square v * square u - dot u v * dot u v) < 0) by nra.
        lra.
    - rewrite <- V in *. pose proof (A (dot u v) (- (square u + 1) / 2)) as P. nra. }
  assert (D : dot u v * dot u v <= (p * q) * (p * q)).
  { pose proof (square_is_no_less_than_0 u). pose proof (square_is_no_less_than_0 v).
    apply Rle_trans with (square u * square v); trivial.
    replace (p * q * (p * q)) with (p * p * (q * q)) by ring. apply Rmult_le_compat; trivial. }
  apply Rabs_le. assert (0 <= p * q) by nra. split; nra.
Qed.

(* What clipping does: u = (1 + l) y for some l >= 0; y is at most c long, and of length c unless l = 0. *)
Lemma clipped : forall c u, 0 < c -> exists l, 0 <= l /\ (forall w, dot u w = (1 + l) * dot (clip c u) w) /\
  square (clip c u) <= c * c /\ l * square (clip c u) = l * (c * c).
Proof.
  intros c u Hc. unfold clip. destruct (Rle_dec (square u) (c * c)) as [I | O].
  - exists 0. repeat split; [lra | intros; ring | trivial | ring].
  - apply Rnot_le_lt in O. set (n := sqrt (square u)).
    assert (N : n * n = square u) by (apply sqrt_sqrt; nra).
    assert (N0 : 0 <= n) by apply sqrt_pos. assert (L : c < n) by nra.
    assert (S : square (scale (c / n) u) = c * c).
    { unfold square. rewrite dot_scale, dot_scale_r. fold (square u). rewrite <- N. field. lra. }
    exists (n / c - 1). repeat split.
    + assert (1 <= n / c) by (apply Rmult_le_reg_r with c; trivial; replace (n / c * c) with n by (field;
        lra); lra). lra.
    + intros w. rewrite dot_scale. field. split; lra.
    + lra.
    + rewrite S. trivial.
Qed.

Lemma towards_the_ball : forall c u z, 0 < c -> square z <= c * c ->
  0 <= dot (less u (clip c u)) (less (clip c u) z).
Proof.
  intros c u z Hc Hz. destruct (clipped c u Hc) as (l & L & U & I & E). set (y := clip c u) in *.
  pose proof (square_is_no_less_than_0 (less y z)) as P. expand. rewrite !U. rewrite (dot_comm z y) in P.
  assert (0 <= l * (c * c - dot y z)) by (apply Rmult_le_pos; lra). lra.
Qed.

Theorem clipping_moves_no_two_apart : forall c u v, 0 < c ->
  square (less (clip c u) (clip c v)) <= square (less u v) /\ square (clip c u) <= c * c.
Proof.
  intros c u v Hc. destruct (clipped c u Hc) as (_ & _ & _ & I & _).
    destruct (clipped c v Hc) as (_ & _ & _ & J & _).
  split; trivial.
  pose proof (towards_the_ball c u (clip c v) Hc J) as A. pose proof (towards_the_ball c v (clip c u) Hc I)
    as B.
  set (y := clip c u) in *. set (z := clip c v) in *. clearbody y z.
  pose proof (square_is_no_less_than_0 (less (less u v) (less y z))) as P. clear I J. expand.
  rewrite (dot_comm z y), (dot_comm v u), ?(dot_comm y u), ?(dot_comm z u), ?(dot_comm y v),
    ?(dot_comm z v) in *. lra.
Qed.

(* A and B are clipped to p and q; before that, a unit moves them by at most a and b. *)
Theorem product_of_clipped_moves : forall A A' B B' a b p q, 0 <= a -> 0 <= b -> 0 < p -> 0 < q ->
  square (less A A') <= a * a -> square (less B B') <= b * b ->
  Rabs (dot (clip p A) (clip q B) - dot (clip p A') (clip q B')) <= a * q + p * b.
Proof.
  intros A A' B B' a b p q Ha Hb Hp Hq HA HB.
  destruct (clipping_moves_no_two_apart p A A' Hp) as [MA _].
    destruct (clipping_moves_no_two_apart q B B' Hq) as [MB IB].
  destruct (clipping_moves_no_two_apart p A' A Hp) as [_ IA].
  pose proof (dot_bound (less (clip p A) (clip p A')) (clip q B) a q Ha ltac:(lra) ltac:(lra) IB) as X.
  pose proof (dot_bound (clip p A') (less (clip q B) (clip q B')) p b ltac:(lra) Hb IA ltac:(lra)) as Y.
  replace (dot (clip p A) (clip q B) - dot (clip p A') (clip q B')) with
    (dot (less (clip p A) (clip p A')) (clip q B) + dot (clip p A') (less (clip q B) (clip q B'))) by (expand;
      ring).
  eapply Rle_trans; [apply Rabs_triang | lra].
Qed.
