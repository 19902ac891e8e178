-- When the user signed in last: sessions are removed when they end.
alter table directory_user add column last_signed_in_at timestamptz;
