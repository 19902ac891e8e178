-- Rotation: a key is published some time before it signs, so that every server and whoever keeps the JWKS knows it when it does.
alter table signing_key add column signs_from timestamptz;
update signing_key set signs_from = created_at;
alter table signing_key alter column signs_from set not null;
