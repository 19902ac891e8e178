-- The rules of the quality gate of an environment, as QualityRules. Null: those of the rules file of each version.
alter table environment add column quality_gate_rules jsonb;
