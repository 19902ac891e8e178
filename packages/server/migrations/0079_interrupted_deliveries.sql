-- For claims: those whose lease has passed, and whether one that was interrupted is held now.
create index delivery_rule_leased on delivery_rule (due_at) where lease_until is not null;
create index delivery_rule_interrupted on delivery_rule (lease_until) where interruptions > 0;
create index git_review_leased on git_review (due_at) where lease_until is not null;
create index git_review_interrupted on git_review (lease_until) where interruptions > 0;
