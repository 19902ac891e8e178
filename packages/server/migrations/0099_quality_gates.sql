-- What a new or promoted version of an environment needs of its quality review.
alter table environment add column quality_gate text not null default 'NONE'
  constraint environment_quality_gate check (quality_gate in ('NONE', 'WARN', 'REQUIRED'));
