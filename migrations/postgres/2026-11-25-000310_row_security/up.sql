-- Rows of a user, for connections whose role is subject to row-level security.
-- Policies have no effect until the server enables it, which it does if requests
-- and maintenance have roles of their own. A setting that was local to a
-- transaction is the empty string afterwards.
CREATE POLICY own_rows ON assignments
    USING (user_id = NULLIF(current_setting('pia.user_id', true), '')::uuid);
-- The query of assignments is subject to their policy.
CREATE POLICY own_rows ON assignment_events
    USING (EXISTS (SELECT 1 FROM assignments WHERE assignments.id = assignment_id));
