(* Lemma 1.5 of src/boundary/door/README.md (docs/theory.md, 12.8): products of d columns in +-R, and a response in
   +-H. A unit with columns u and response r adds R u_i; u_i u_j for i <= j; and, with a response, r R and r
   u_i. Two units differ by at most (d + 1) R^2 + H^2 in L2, H = 0 without a response.

   Proof. With U = (R, u), V = (R, v), c = <U, V>, the squared distance is at most
     1/2 [ |U|^4 + |V|^4 - 2 c^2 + sum_j (u_j^2 - v_j^2)^2 ] + |r U - s V|^2.
   |r U - s V|^2 <= H^2 (|U|^2 + |V|^2) + 2 H^2 |c|, and 2 H^2 |c| - c^2 <= H^4. What is left is largest where
   all u_j^2 and v_j^2 are R^2. *)
From Tacit Require Import Vectors Shapes Squares.

(* As tacit_door_shape_add() in src/boundary/door/shapes.c writes them. *)
Definition products (R : Z) (u : list Z) (r : Z) : list Z := times R u ++ triangle u ++ times r (R :: u).
Definition products_without_response (R : Z) (u : list Z) : list Z := times R u ++ triangle u.

Lemma minus_app : forall x x' y y', length x = length x' ->
  minus (x ++ y) (x' ++ y') = minus x x' ++ minus y y'.
Proof.
  unfold minus. induction x; destruct x'; simpl; intros y y' E; try discriminate; trivial. rewrite IHx by lia.
    trivial.
Qed.

Lemma length_of_minus : forall x y, length x = length y -> length (minus x y) = length x.
Proof. unfold minus. induction x; destruct y; simpl; intros; try discriminate; trivial. rewrite IHx; lia. Qed.

Lemma distance_of_app : forall x x' y y', length x = length x' ->
  distance2 (x ++ y) (x' ++ y') = distance2 x x' + distance2 y y'.
Proof. intros. unfold distance2, square. rewrite minus_app by trivial. apply dot_app. trivial. Qed.

Lemma lengths_of_triangles : forall u v, length u = length v -> length (triangle u) = length (triangle v).
Proof.
  induction u; destruct v; simpl; intros E; try discriminate; trivial. rewrite !app_length, !length_of_times,
    (IHu v) by lia. lia.
Qed.

(* Squared differences of the diagonal, sum_j (u_j^2 - v_j^2)^2. *)
Fixpoint diagonal (u v : list Z) : Z :=
  match u, v with a :: u', b :: v' => (a ^ 2 - b ^ 2) ^ 2 + diagonal u' v' | _, _ => 0 end.

(* Twice the distance of two triangles is the Frobenius one, and once more the diagonal. *)
Lemma distance_of_triangles : forall u v, length u = length v ->
  2 * distance2 (triangle u) (triangle v) = square u ^ 2 - 2 * dot u v ^ 2 + square v ^ 2 + diagonal u v.
Proof.
  intros u v E.
  assert (F : 2 * distance2 (triangle u) (triangle v) =
              inner (weights (length u)) (minus (triangle u) (triangle v)) (minus (triangle u) (triangle v))
                + diagonal u v).
  { revert v E. induction u as [|a u IH]; destruct v as [|b v]; cbn [triangle weights length diagonal];
      intros E; try discriminate; trivial.
    change (times a (a :: u)) with (a * a :: times a u). change (times b (b :: v)) with (b * b :: times b v).
    assert (L : length (times a u) = length (times b v)) by (rewrite !length_of_times; simpl in E; lia).
    rewrite distance_of_app by (simpl; lia). rewrite minus_app by (simpl; lia).
    change (1 :: repeat 2 (length u) ++ weights (length u)) with ((1 :: repeat 2 (length u)) ++ weights
      (length u)).
    rewrite inner_app; [| simpl; fold (minus (times a u) (times b v)); rewrite length_of_minus, repeat_length,
      length_of_times by trivial; lia | trivial].
    rewrite Z.mul_add_distr_l, IH by (simpl in E; lia).
    change (minus (a * a :: times a u) (b * b :: times b v)) with (a * a + -1 * (b * b) :: minus (times a u)
      (times b v)).
    unfold distance2, square. change (minus (a * a :: times a u) (b * b :: times b v)) with (a * a + -1 * (b
      * b) :: minus (times a u) (times b v)).
    unfold dot. cbn [inner hd tl].
    rewrite inner_of_twos by (rewrite length_of_minus, length_of_times by trivial; trivial). unfold dot.
      ring. }
  rewrite F, distance_of_inner, inner_of_triangles by trivial.
  rewrite inner_of_triangles by trivial. rewrite E, inner_of_triangles by trivial. unfold square. ring.
Qed.

Definition within (R : Z) (u : list Z) : Prop := Forall (fun a => - R <= a <= R) u.

Lemma square_le : forall a R, - R <= a <= R -> 0 <= a ^ 2 <= R ^ 2.
Proof. intros; nia. Qed.

(* convex in p and in q *)
Lemma largest_at_corners : forall p q M, 0 <= p <= M -> 0 <= q <= M ->
  2 * p ^ 2 + 2 * q ^ 2 - 2 * p * q <= 2 * M ^ 2.
Proof. intros. destruct (Z.le_ge_cases p q); nia. Qed.

Lemma grows : forall d M P p, 0 <= d -> 0 <= P <= d * M -> 0 <= p <= M -> (M + P) * p <= (d + 1) * M * M.
Proof. intros. apply Z.mul_le_mono_nonneg; lia. Qed.

(* (R^2 + p)^2 + (R^2 + q)^2 + the diagonal is largest where all u_j^2, v_j^2 are R^2. *)
Lemma largest_at_the_corner : forall R u v, within R u -> within R v -> length u = length v ->
  let d := Z.of_nat (length u) in
  0 <= square u <= d * R ^ 2 /\ 0 <= square v <= d * R ^ 2 /\
  (R ^ 2 + square u) ^ 2 + (R ^ 2 + square v) ^ 2 + diagonal u v <= 2 * ((d + 1) * R ^ 2) ^ 2.
Proof.
  intros R u v F. revert v. induction F as [|a u A F IH]; intros [|b v] G E; try discriminate.
  - cbv zeta. unfold square, dot. simpl. lia.
  - inversion G as [|x y B G']; subst. specialize (IH v G' ltac:(simpl in E; lia)). cbv zeta in *.
    cbn [length diagonal]. rewrite Nat2Z.inj_succ. unfold square, dot in *. cbn [inner hd tl].
    set (d := Z.of_nat (length u)) in *. assert (D : 0 <= d) by lia.
    set (P := inner [] u u) in *. set (Q := inner [] v v) in *.
    pose proof (square_le a R A) as A2. pose proof (square_le b R B) as B2.
    replace (1 * a * a) with (a ^ 2) by ring. replace (1 * b * b) with (b ^ 2) by ring.
    set (p := a ^ 2) in *. set (q := b ^ 2) in *. set (M := R ^ 2) in *. clearbody p q M P Q d.
    destruct IH as (IP & IQ & I). replace (Z.succ d * M) with (M + d * M) by (unfold Z.succ; ring).
    split; [lia|]. split; [lia|].
    pose proof (largest_at_corners p q M A2 B2) as X. pose proof (grows d M P p D IP A2) as Y.
      pose proof (grows d M Q q D IQ B2) as Z.
    replace ((M + (p + P)) ^ 2 + (M + (q + Q)) ^ 2 + ((p - q) ^ 2 + diagonal u v))
      with ((M + P) ^ 2 + (M + Q) ^ 2 + diagonal u v + 2 * ((M + P) * p) + 2 * ((M + Q) * q) + (2 * p ^ 2 + 2
        * q ^ 2 - 2 * p * q)) by ring.
    replace (2 * ((Z.succ d + 1) * M) ^ 2) with (2 * ((d + 1) * M) ^ 2 + 4 * ((d + 1) * M * M) + 2 * M ^ 2)
      by (unfold Z.succ; ring).
    lia.
Qed.

Lemma twice_a_product : forall x c K, 0 <= K -> x ^ 2 <= K ^ 2 -> - 2 * x * c <= K ^ 2 + c ^ 2.
Proof. intros. assert (0 <= (x + c) ^ 2) by nia. lia. Qed.

Lemma response : forall H r s uu vv c, - H <= r <= H -> - H <= s <= H -> 0 <= uu -> 0 <= vv ->
  r ^ 2 * uu - 2 * r * s * c + s ^ 2 * vv <= H ^ 2 * (uu + vv) + (H ^ 2) ^ 2 + c ^ 2.
Proof.
  intros H r s uu vv c Hr Hs Hu Hv. pose proof (square_le r H Hr) as A. pose proof (square_le s H Hs) as B.
  assert (C : (r * s) ^ 2 <= (H ^ 2) ^ 2) by
    (replace ((r * s) ^ 2) with (r ^ 2 * s ^ 2) by ring; rewrite (Z.pow_2_r (H ^ 2));
      apply Z.mul_le_mono_nonneg; lia).
  pose proof (twice_a_product (r * s) c (H ^ 2) ltac:(lia) C).
  assert (r ^ 2 * uu <= H ^ 2 * uu) by (apply Z.mul_le_mono_nonneg_r; lia).
  assert (s ^ 2 * vv <= H ^ 2 * vv) by (apply Z.mul_le_mono_nonneg_r; lia). lia.
Qed.

Lemma all_together : forall a b c e f uu vv K N,
  2 * (a + b) = uu ^ 2 - 2 * c ^ 2 + vv ^ 2 + e -> f <= K * (uu + vv) + K ^ 2 + c ^ 2 ->
  uu ^ 2 + vv ^ 2 + e <= 2 * N ^ 2 -> 0 <= K -> uu + vv <= 2 * N -> a + (b + f) <= (N + K) ^ 2.
Proof.
  intros a b c e f uu vv K N T W C K0 G. apply (Z.mul_le_mono_nonneg_l _ _ K K0) in G.
  replace ((N + K) ^ 2) with (N ^ 2 + K * (2 * N) + K ^ 2) by ring. clear K0.
  generalize dependent (K * (uu + vv)). generalize dependent (K * (2 * N)). generalize dependent (uu ^ 2).
    generalize dependent (vv ^ 2).
  generalize dependent (N ^ 2). generalize dependent (c ^ 2). generalize dependent (K ^ 2). intros. lia.
Qed.

(* With a response: (d + 1) R^2 + H^2. *)
Theorem products_substitute : forall R H u v r s, 0 <= R -> 0 <= H -> length u = length v ->
  is_in_box (- R) R u = true -> is_in_box (- R) R v = true -> - H <= r <= H -> - H <= s <= H ->
  let d := Z.of_nat (length u) in
  distance2 (products R u r) (products R v s) <= ((d + 1) * R ^ 2 + H ^ 2) ^ 2.
Proof.
  intros R H u v r s HR HH E Fu Fv Hr Hs d. pose proof (proj1 (square_le H H ltac:(lia))) as K0.
    apply in_box in Fu, Fv.
  pose proof (largest_at_the_corner R u v Fu Fv E) as (U & V & C). fold d in U, V, C.
  unfold products. rewrite !distance_of_app; [| apply lengths_of_triangles;
    trivial | rewrite !length_of_times;
    trivial].
  pose proof (distance_of_triangles (R :: u) (R :: v) (f_equal S E)) as T.
  cbn [triangle] in T. rewrite distance_of_app in T by (rewrite !length_of_times; exact (f_equal S E)).
  assert (A : distance2 (times R (R :: u)) (times R (R :: v)) = distance2 (times R u) (times R v)).
  { unfold distance2, square, dot, minus. cbn [times add inner hd tl]. ring. }
  rewrite A in T.
  assert (B : distance2 (times r (R :: u)) (times s (R :: v)) = r ^ 2 * square (R :: u) - 2 * r * s * dot (R
    :: u) (R :: v) + s ^ 2 * square (R :: v)).
  { unfold distance2, square, dot. rewrite distance_of_inner. rewrite !inner_times, !inner_times_r. ring. }
  rewrite B.
  pose proof (square_is_no_less_than_0 (R :: u)) as PU. pose proof (square_is_no_less_than_0 (R :: v)) as PV.
  pose proof (response H r s _ _ (dot (R :: u) (R :: v)) Hr Hs PU PV) as W.
  assert (SU : square (R :: u) = R ^ 2 + square u) by (unfold square, dot; cbn [inner hd tl]; ring).
  assert (SV : square (R :: v) = R ^ 2 + square v) by (unfold square, dot; cbn [inner hd tl]; ring).
  replace (diagonal (R :: u) (R :: v)) with (diagonal u v) in T by (cbn [diagonal]; ring). rewrite SU,
    SV in *.
  apply (all_together _ _ _ _ _ _ _ _ _ T W C K0). clear - U V. lia.
Qed.

Lemma products_with_no_response : forall R u, products R u 0 = products_without_response R u ++ times 0 (R ::
  u).
Proof. intros. unfold products, products_without_response. apply app_assoc. Qed.

(* Without a response: (d + 1) R^2. *)
Theorem products_without_response_substitute : forall R u v, 0 <= R -> length u = length v ->
  is_in_box (- R) R u = true -> is_in_box (- R) R v = true ->
  let d := Z.of_nat (length u) in
  distance2 (products_without_response R u) (products_without_response R v) <= ((d + 1) * R ^ 2) ^ 2.
Proof.
  intros R u v HR E Fu Fv d.
  pose proof (products_substitute R 0 u v 0 0 HR ltac:(lia) E Fu Fv ltac:(lia) ltac:(lia)) as P.
    cbv zeta in P. fold d in P.
  rewrite !products_with_no_response in P. rewrite distance_of_app in P.
  - pose proof (square_is_no_less_than_0 (minus (times 0 (R :: u)) (times 0 (R :: v)))).
      unfold distance2 in *.
    replace (0 ^ 2) with 0 in P by reflexivity. rewrite Z.add_0_r in P. lia.
  - unfold products_without_response. rewrite !app_length, !length_of_times, (lengths_of_triangles u v E).
      lia.
Qed.

(* Against none the same holds: none adds what columns and a response of 0 add. *)
Theorem products_add_remove : forall R H u r, 0 <= R -> 0 <= H -> is_in_box (- R) R u = true ->
  - H <= r <= H ->
  let d := Z.of_nat (length u) in
  distance2 (products R u r) [] <= ((d + 1) * R ^ 2 + H ^ 2) ^ 2 /\
  distance2 (products_without_response R u) [] <= ((d + 1) * R ^ 2) ^ 2.
Proof.
  intros R H u r HR HH Fu Hr d.
  assert (Z0 : forall n, is_in_box (- R) R (repeat 0 n) = true).
  { intros. apply forallb_forall. intros x I. apply repeat_spec in I. subst x. rewrite Bool.andb_true_iff,
      !Z.leb_le. lia. }
  assert (N : forall x y, (forall w z, inner w y z = 0) -> distance2 x y = distance2 x []).
  { intros x y Hy. unfold distance2, square, dot. rewrite !distance_of_inner, !inner_nil.
    rewrite (inner_comm x [] y), !Hy. ring. }
  assert (T0 : forall c n w z, inner w (times c (repeat 0 n)) z = 0).
  { intros c n. induction n; simpl; intros w [|b z]; simpl; trivial. rewrite IHn. ring. }
  assert (A0 : forall x y, (forall w z, inner w x z = 0) -> (forall w z, inner w y z = 0) -> forall w z,
    inner w (x ++ y) z = 0).
  { induction x as [|a x IH]; simpl; intros y Hx Hy w z; [apply Hy|]. destruct z as [|b z]; trivial.
    pose proof (Hx [] [1]) as Ha. cbn [inner hd tl] in Ha. rewrite inner_nil in Ha. assert (a = 0) by lia.
      subst a.
    rewrite IH; [ring | | exact Hy]. intros w' z'. specialize (Hx (1 :: w') (0 :: z')).
      cbn [inner hd tl] in Hx. lia. }
  assert (Tr : forall n w z, inner w (triangle (repeat 0 n)) z = 0).
  { induction n; [destruct z; trivial|]. intros. cbn [repeat triangle]. apply A0; [|exact IHn]. intros.
      apply (T0 0 (S n)). }
  split.
  - rewrite <- (N (products R u r) (products R (repeat 0 (length u)) 0)).
    + apply products_substitute; try lia; trivial. rewrite repeat_length; trivial.
    + unfold products. apply A0; [apply T0|]. apply A0; [apply Tr|].
      intros w z. rewrite inner_times. lia.
  - rewrite <- (N (products_without_response R u) (products_without_response R (repeat 0 (length u)))).
    + apply products_without_response_substitute; try lia; trivial. rewrite repeat_length; trivial.
    + unfold products_without_response. apply A0; [apply T0 | apply Tr].
Qed.
