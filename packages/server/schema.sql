-- The tables of the database as all migrations leave them. `npm run generate` writes this file.

create type blob_object_state as enum ('pending', 'live', 'doomed');

create type execution_status as enum ('RUNNING', 'SUCCESS', 'FAILED', 'CANCELLING', 'CANCELLED', 'FORBIDDEN', 'SKIPPED', 'UNKNOWN');

create type variable_behaviour as enum ('SHARED', 'COPIED');

create type variable_type as enum ('TEXT', 'NUMBER', 'GRID');

create type work_command as enum ('cancel', 'force-cancel');

create type work_state as enum ('queued', 'held', 'silent', 'ended');

create table account (
  account_id uuid not null,
  name text not null,
  created_at timestamp with time zone not null,
  blob_removals bigint not null default 0,
  protect_role_groups boolean not null default false,
  constraint account_key PRIMARY KEY (account_id),
  constraint account_name_taken UNIQUE (name)
);

create table agent (
  account_id uuid not null,
  agent_id uuid not null,
  name text not null,
  description text not null,
  agent_type text not null,
  cloud_provider text not null,
  deployment text not null,
  status text not null,
  client_id text not null,
  secret_digest bytea not null,
  created_at timestamp with time zone not null,
  track_name text not null default 'current'::text,
  enable_auto_updates boolean not null default false,
  restricted_access boolean not null default false,
  paused boolean not null default false,
  paused_until timestamp with time zone,
  agent_version text not null default ''::text,
  secret_sealed bytea,
  secret_generation integer not null default 0,
  version bigint not null default 1,
  places_changed boolean not null default false,
  environment_share integer not null default 50,
  weights jsonb not null default '[]'::jsonb,
  constraint agent_key PRIMARY KEY (account_id, agent_id),
  constraint agent_client_id_taken UNIQUE (client_id),
  constraint agent_environment_share_percent CHECK (((environment_share >= 1) AND (environment_share <= 100))),
  constraint agent_name_taken UNIQUE (account_id, name),
  constraint agent_of_account FOREIGN KEY (account_id) REFERENCES account(account_id) ON DELETE CASCADE,
  constraint agent_status_known CHECK ((status = ANY (ARRAY['pending'::text, 'running'::text, 'unknown'::text, 'stopping'::text, 'stopped'::text, 'pausing'::text, 'paused'::text]))),
  constraint agent_track_known CHECK ((track_name = ANY (ARRAY['current'::text, 'stable'::text])))
);
CREATE INDEX agent_pausing ON public.agent USING btree (account_id, agent_id) WHERE (status = 'pausing'::text);
CREATE INDEX agent_places_changed ON public.agent USING btree (account_id, agent_id) WHERE places_changed;
CREATE INDEX agent_resuming ON public.agent USING btree (paused_until) WHERE paused;

create table agent_allowed_place (
  account_id uuid not null,
  agent_id uuid not null,
  project_id uuid not null,
  environment_name text,
  constraint agent_allowed_place_in_environment FOREIGN KEY (account_id, project_id, environment_name) REFERENCES environment(account_id, project_id, name) ON DELETE CASCADE,
  constraint agent_allowed_place_in_project FOREIGN KEY (account_id, project_id) REFERENCES project(account_id, project_id) ON DELETE CASCADE,
  constraint agent_allowed_place_of_agent FOREIGN KEY (account_id, agent_id) REFERENCES agent(account_id, agent_id) ON DELETE CASCADE,
  constraint agent_allowed_place_once UNIQUE NULLS NOT DISTINCT (account_id, agent_id, project_id, environment_name)
);
CREATE INDEX agent_allowed_place_by_project ON public.agent_allowed_place USING btree (account_id, project_id, environment_name);

create table agent_certificate (
  account_id uuid not null,
  agent_id uuid not null,
  key_id text not null,
  instance_id uuid not null,
  authority_id uuid not null,
  certificate text not null,
  key_type text not null,
  issued_at timestamp with time zone not null,
  not_after timestamp with time zone not null,
  secret_generation integer not null,
  constraint agent_certificate_key PRIMARY KEY (account_id, agent_id, key_id),
  constraint agent_certificate_by_authority FOREIGN KEY (authority_id) REFERENCES certificate_authority(authority_id),
  constraint agent_certificate_key_type_known CHECK ((key_type = ANY (ARRAY['EC'::text, 'RSA'::text]))),
  constraint agent_certificate_of_agent FOREIGN KEY (account_id, agent_id) REFERENCES agent(account_id, agent_id) ON DELETE CASCADE
);

create table agent_instance (
  account_id uuid not null,
  agent_id uuid not null,
  instance_id uuid not null,
  agent_version text not null,
  abilities text[],
  concurrency integer,
  stopping boolean not null default false,
  restart_requested boolean not null default false,
  connected_at timestamp with time zone not null,
  last_seen_at timestamp with time zone not null,
  silent boolean not null default false,
  short_concurrency integer,
  constraint agent_instance_key PRIMARY KEY (account_id, agent_id, instance_id),
  constraint agent_instance_of_agent FOREIGN KEY (account_id, agent_id) REFERENCES agent(account_id, agent_id) ON DELETE CASCADE
) with (fillfactor=50, autovacuum_vacuum_scale_factor=0.02, autovacuum_analyze_scale_factor=0.02, vacuum_truncate=false);
CREATE INDEX agent_instance_heard ON public.agent_instance USING btree (last_seen_at) WHERE (NOT silent);

create table agent_request (
  account_id uuid not null,
  request_id uuid not null,
  kind text not null,
  project_id uuid not null,
  environment_name text,
  name text not null,
  group_id uuid,
  request text not null,
  result text,
  message text,
  state text not null,
  created_at timestamp with time zone not null,
  expires_at timestamp with time zone not null,
  constraint agent_request_key PRIMARY KEY (account_id, request_id),
  constraint agent_request_of_project FOREIGN KEY (account_id, project_id) REFERENCES project(account_id, project_id) ON DELETE CASCADE,
  constraint agent_request_state_known CHECK ((state = ANY (ARRAY['PENDING'::text, 'ANSWERED'::text, 'FAILED'::text, 'FORBIDDEN'::text])))
);
CREATE INDEX agent_request_by_expiry ON public.agent_request USING btree (expires_at);
CREATE INDEX agent_request_by_group ON public.agent_request USING btree (account_id, group_id) WHERE (group_id IS NOT NULL);
CREATE INDEX agent_request_by_project ON public.agent_request USING btree (account_id, project_id);

create table ai_call (
  account_id uuid not null,
  task_id uuid not null,
  call_id uuid not null,
  turn integer not null,
  number integer not null,
  group_id uuid not null,
  tool_name text not null,
  input text not null,
  input_digest bytea not null,
  schema_digest bytea,
  status text not null,
  outcome text,
  sender_id uuid not null,
  sender_credential_id uuid,
  attempts integer not null default 0,
  permission_message jsonb,
  decision text,
  reason text,
  answers jsonb,
  expires_at timestamp with time zone,
  started_at timestamp with time zone,
  ended_at timestamp with time zone,
  other_principal_ids uuid[] not null default '{}'::uuid[],
  shown_digest bytea,
  constraint ai_call_key PRIMARY KEY (account_id, task_id, call_id),
  constraint ai_call_number UNIQUE (account_id, task_id, turn, number),
  constraint ai_call_outcome CHECK ((((outcome IS NOT NULL) = (status = 'ENDED'::text)) AND (outcome = ANY (ARRAY['DONE'::text, 'FAILED'::text, 'DENIED'::text, 'TIMED_OUT'::text, 'STOPPED'::text])))),
  constraint ai_call_status CHECK ((status = ANY (ARRAY['PROPOSED'::text, 'WAITING'::text, 'ALLOWED'::text, 'RUNNING'::text, 'ENDED'::text]))),
  constraint ai_call_task FOREIGN KEY (account_id, task_id) REFERENCES ai_task(account_id, task_id) ON DELETE CASCADE
);
CREATE INDEX ai_call_open ON public.ai_call USING btree (account_id, task_id) WHERE (status <> 'ENDED'::text);

create table ai_edit (
  account_id uuid not null,
  task_id uuid not null,
  stage text not null,
  path text not null,
  content text,
  call_id uuid,
  constraint ai_edit_key PRIMARY KEY (account_id, task_id, stage, path),
  constraint ai_edit_of_copy FOREIGN KEY (account_id, task_id) REFERENCES ai_working_copy(account_id, task_id) ON DELETE CASCADE,
  constraint ai_edit_stage CHECK ((stage = ANY (ARRAY['WORKING'::text, 'PROPOSED'::text])))
);

create table ai_grant (
  account_id uuid not null,
  task_id uuid not null,
  number integer not null,
  tool_name text not null,
  grant_as_written jsonb not null,
  arguments_digest bytea,
  schema_digest bytea,
  uses_left integer,
  expires_at timestamp with time zone,
  granted_by uuid not null,
  granted_at timestamp with time zone not null,
  constraint ai_grant_key PRIMARY KEY (account_id, task_id, number),
  constraint ai_grant_task FOREIGN KEY (account_id, task_id) REFERENCES ai_task(account_id, task_id) ON DELETE CASCADE
);

create table ai_message (
  account_id uuid not null,
  task_id uuid not null,
  position bigint not null,
  group_id uuid not null,
  written_at timestamp with time zone not null,
  data jsonb not null,
  constraint ai_message_key PRIMARY KEY (account_id, task_id, "position"),
  constraint ai_message_task FOREIGN KEY (account_id, task_id) REFERENCES ai_task(account_id, task_id) ON DELETE CASCADE
);

create table ai_run (
  account_id uuid not null,
  task_id uuid not null,
  execution_id uuid not null,
  kind text not null,
  started_at timestamp with time zone not null,
  constraint ai_run_key PRIMARY KEY (account_id, task_id, execution_id),
  constraint ai_run_kind CHECK ((kind = ANY (ARRAY['PIPELINE'::text, 'TESTS'::text]))),
  constraint ai_run_of_task FOREIGN KEY (account_id, task_id) REFERENCES ai_task(account_id, task_id) ON DELETE CASCADE
);

create table ai_task (
  account_id uuid not null,
  project_id uuid not null,
  task_id uuid not null,
  status text not null,
  agent_config jsonb not null,
  description text not null,
  environment_name text,
  branch_name text,
  creator_id uuid not null,
  creator_credential_id uuid,
  sender_id uuid not null,
  sender_credential_id uuid,
  news bigint not null default 0,
  stop_at timestamp with time zone,
  wants_turn boolean not null,
  last_position bigint not null default 0,
  turns integer not null default 0,
  input_tokens bigint not null default 0,
  output_tokens bigint not null default 0,
  cost bigint not null default 0,
  milliseconds bigint not null default 0,
  created_at timestamp with time zone not null,
  modified_at timestamp with time zone not null,
  constraint ai_task_key PRIMARY KEY (account_id, task_id),
  constraint ai_task_environment FOREIGN KEY (account_id, project_id, environment_name) REFERENCES environment(account_id, project_id, name) ON DELETE SET NULL (environment_name),
  constraint ai_task_of_project FOREIGN KEY (account_id, project_id) REFERENCES project(account_id, project_id) ON DELETE CASCADE,
  constraint ai_task_status CHECK ((status = ANY (ARRAY['RUNNING'::text, 'STOPPING'::text, 'STOPPED'::text, 'ERRORED'::text])))
);
CREATE INDEX ai_task_of_project ON public.ai_task USING btree (account_id, project_id, modified_at DESC);
CREATE INDEX ai_task_running ON public.ai_task USING btree (account_id) WHERE (status = ANY (ARRAY['RUNNING'::text, 'STOPPING'::text]));

create table ai_turn (
  account_id uuid not null,
  task_id uuid not null,
  turn integer not null,
  group_id uuid not null,
  status text not null,
  through_position bigint not null,
  sender_id uuid not null,
  sender_credential_id uuid,
  attempts integer not null,
  text_so_far text,
  started_at timestamp with time zone not null,
  ended_at timestamp with time zone,
  other_principal_ids uuid[] not null default '{}'::uuid[],
  constraint ai_turn_key PRIMARY KEY (account_id, task_id, turn),
  constraint ai_turn_status CHECK ((status = ANY (ARRAY['ASKED'::text, 'ANSWERED'::text, 'FAILED'::text]))),
  constraint ai_turn_task FOREIGN KEY (account_id, task_id) REFERENCES ai_task(account_id, task_id) ON DELETE CASCADE
);

create table ai_usage (
  account_id uuid not null,
  used_on date not null,
  turns bigint not null,
  tokens bigint not null,
  cost bigint not null,
  milliseconds bigint not null,
  constraint ai_usage_key PRIMARY KEY (account_id, used_on),
  constraint ai_usage_account_id_fkey FOREIGN KEY (account_id) REFERENCES account(account_id) ON DELETE CASCADE
);
CREATE INDEX ai_usage_age ON public.ai_usage USING btree (used_on);

create table ai_working_copy (
  account_id uuid not null,
  task_id uuid not null,
  project_id uuid not null,
  state text not null,
  source_branch text,
  branch text,
  branch_call uuid,
  is_branch_made boolean,
  start_commit text,
  commit_id text,
  environment_name text,
  version_name text,
  manifest_digest text,
  message text,
  committed_by_call uuid,
  created_at timestamp with time zone not null,
  modified_at timestamp with time zone not null,
  claimed_by uuid,
  claimed_until timestamp with time zone,
  mark_key uuid not null default gen_random_uuid(),
  constraint ai_working_copy_key PRIMARY KEY (account_id, task_id),
  constraint ai_working_copy_kind CHECK (((source_branch IS NULL) <> (environment_name IS NULL))),
  constraint ai_working_copy_of_task FOREIGN KEY (account_id, task_id) REFERENCES ai_task(account_id, task_id) ON DELETE CASCADE,
  constraint ai_working_copy_state CHECK ((state = ANY (ARRAY['OPEN'::text, 'MERGED'::text, 'DISCARDED'::text])))
);
CREATE INDEX ai_working_copy_of_manifest ON public.ai_working_copy USING btree (account_id, manifest_digest) WHERE (manifest_digest IS NOT NULL);

create table alert (
  account_id uuid not null,
  alert_rule_id uuid not null,
  alert_id uuid not null,
  cause text not null,
  reason text not null,
  environment_name text,
  pipeline_name text,
  execution_id uuid,
  schedule_id uuid,
  raised_at timestamp with time zone not null,
  constraint alert_key PRIMARY KEY (account_id, alert_id),
  constraint alert_of_rule FOREIGN KEY (account_id, alert_rule_id) REFERENCES alert_rule(account_id, alert_rule_id) ON DELETE CASCADE,
  constraint alert_once UNIQUE (account_id, alert_rule_id, cause)
);
CREATE INDEX alert_by_rule ON public.alert USING btree (account_id, alert_rule_id, alert_id);

create table alert_mail (
  account_id uuid not null,
  mail_id uuid not null,
  recipient text not null,
  subject text not null,
  body text not null,
  state text not null,
  last_error text,
  created_at timestamp with time zone not null,
  ended_at timestamp with time zone,
  project_id uuid,
  is_confirmation boolean not null default false,
  invitation_id uuid,
  constraint alert_mail_key PRIMARY KEY (account_id, mail_id),
  constraint alert_mail_kind CHECK (((num_nonnulls(project_id, invitation_id) + (is_confirmation)::integer) = 1)),
  constraint alert_mail_of_account FOREIGN KEY (account_id) REFERENCES account(account_id) ON DELETE CASCADE,
  constraint alert_mail_of_invitation FOREIGN KEY (account_id, invitation_id) REFERENCES invitation(account_id, invitation_id) ON DELETE CASCADE,
  constraint alert_mail_of_project FOREIGN KEY (account_id, project_id) REFERENCES project(account_id, project_id) ON DELETE CASCADE,
  constraint alert_mail_state CHECK ((state = ANY (ARRAY['pending'::text, 'sent'::text, 'dead'::text])))
);
CREATE INDEX alert_mail_by_invitation ON public.alert_mail USING btree (account_id, invitation_id) WHERE (invitation_id IS NOT NULL);
CREATE INDEX alert_mail_by_project ON public.alert_mail USING btree (account_id, project_id) WHERE (project_id IS NOT NULL);

create table alert_mail_part (
  account_id uuid not null,
  alert_id uuid not null,
  recipient text not null,
  mail_id uuid,
  reason text,
  constraint alert_mail_part_key PRIMARY KEY (account_id, alert_id, recipient),
  constraint alert_mail_part_either CHECK (((mail_id IS NULL) = (reason IS NOT NULL))),
  constraint alert_mail_part_of_alert FOREIGN KEY (account_id, alert_id) REFERENCES alert(account_id, alert_id) ON DELETE CASCADE,
  constraint alert_mail_part_of_mail FOREIGN KEY (account_id, mail_id) REFERENCES alert_mail(account_id, mail_id) ON DELETE CASCADE
);
CREATE INDEX alert_mail_part_by_mail ON public.alert_mail_part USING btree (account_id, mail_id) WHERE (mail_id IS NOT NULL);

create table alert_position (
  account_id uuid not null,
  position bigint not null,
  constraint alert_position_key PRIMARY KEY (account_id)
);

create table alert_rule (
  account_id uuid not null,
  alert_rule_id uuid not null,
  project_id uuid not null,
  name text not null,
  condition_type text not null,
  minutes integer,
  factor double precision,
  environment_name text,
  pipeline_name text,
  schedule_id uuid,
  webhook_ids uuid[] not null,
  enabled boolean not null,
  active_since timestamp with time zone not null,
  last_raised_at timestamp with time zone,
  version bigint not null,
  created_at timestamp with time zone not null,
  emails text[] not null default '{}'::text[],
  constraint alert_rule_key PRIMARY KEY (account_id, alert_rule_id),
  constraint alert_rule_in_environment FOREIGN KEY (account_id, project_id, environment_name) REFERENCES environment(account_id, project_id, name) ON DELETE CASCADE,
  constraint alert_rule_name_taken UNIQUE (account_id, project_id, name),
  constraint alert_rule_of_project FOREIGN KEY (account_id, project_id) REFERENCES project(account_id, project_id) ON DELETE CASCADE
);
CREATE INDEX alert_rule_by_environment ON public.alert_rule USING btree (account_id, project_id, environment_name) WHERE (environment_name IS NOT NULL);
CREATE INDEX alert_rule_enabled ON public.alert_rule USING btree (account_id, alert_rule_id) WHERE enabled;
CREATE INDEX alert_rule_of_time ON public.alert_rule USING btree (account_id, project_id) WHERE (enabled AND (condition_type = ANY (ARRAY['LONGER_THAN'::text, 'LONGER_THAN_USUAL'::text, 'NOT_STARTED'::text])));

create table artifact_counter (
  account_id uuid not null,
  project_id uuid not null,
  environment_name text not null,
  versions bigint not null,
  enabled_versions bigint not null,
  constraint artifact_counter_key PRIMARY KEY (account_id, project_id, environment_name),
  constraint artifact_counter_in_environment FOREIGN KEY (account_id, project_id, environment_name) REFERENCES environment(account_id, project_id, name) ON DELETE CASCADE
) with (fillfactor=50);

create table artifact_version (
  account_id uuid not null,
  project_id uuid not null,
  environment_name text not null,
  version_name text not null,
  manifest_digest text not null,
  branch text,
  commit_hash text,
  provider text not null,
  enabled boolean not null,
  created_by uuid not null,
  created_at timestamp with time zone not null,
  deployed_at timestamp with time zone not null,
  promoted_from text,
  promoted_by uuid,
  ignored_pipelines jsonb not null default '[]'::jsonb,
  constraint artifact_version_exists PRIMARY KEY (account_id, project_id, environment_name, version_name),
  constraint artifact_version_in_environment FOREIGN KEY (account_id, project_id, environment_name) REFERENCES environment(account_id, project_id, name) ON DELETE CASCADE,
  constraint artifact_version_of_manifest FOREIGN KEY (account_id, manifest_digest) REFERENCES manifest(account_id, digest),
  constraint artifact_version_promotion_whole CHECK (((promoted_from IS NULL) = (promoted_by IS NULL)))
);
CREATE INDEX artifact_version_by_manifest ON public.artifact_version USING btree (account_id, manifest_digest);
CREATE INDEX artifact_version_newest ON public.artifact_version USING btree (account_id, project_id, environment_name, deployed_at DESC, version_name DESC);
CREATE INDEX artifact_version_newest_enabled ON public.artifact_version USING btree (account_id, project_id, environment_name, deployed_at DESC, version_name DESC) WHERE enabled;

create table backfill (
  account_id uuid not null,
  backfill_id uuid not null,
  project_id uuid not null,
  schedule_id uuid not null,
  environment_name text not null,
  status text not null,
  range_from timestamp with time zone not null,
  range_to timestamp with time zone not null,
  concurrency integer not null,
  ticks timestamp with time zone[] not null,
  tick_count integer not null,
  started_count integer not null,
  requested_by uuid not null,
  user_name text not null,
  next_round_at timestamp with time zone,
  problem_code text,
  problem_detail text,
  problem_since timestamp with time zone,
  counts jsonb,
  created_at timestamp with time zone not null,
  ended_at timestamp with time zone,
  constraint backfill_key PRIMARY KEY (account_id, backfill_id),
  constraint backfill_end_whole CHECK ((((status = ANY (ARRAY['COMPLETED'::text, 'CANCELLED'::text, 'FAILED'::text])) = (ended_at IS NOT NULL)) AND ((ended_at IS NULL) = (next_round_at IS NOT NULL)) AND ((ended_at IS NULL) = (counts IS NULL)))),
  constraint backfill_of_project FOREIGN KEY (account_id, project_id) REFERENCES project(account_id, project_id) ON DELETE CASCADE,
  constraint backfill_of_schedule FOREIGN KEY (account_id, schedule_id) REFERENCES schedule(account_id, schedule_id) ON DELETE CASCADE,
  constraint backfill_problem_whole CHECK ((num_nonnulls(problem_code, problem_detail, problem_since) = ANY (ARRAY[0, 3]))),
  constraint backfill_status_known CHECK ((status = ANY (ARRAY['RUNNING'::text, 'STOPPING'::text, 'COMPLETED'::text, 'CANCELLED'::text, 'FAILED'::text])))
);
CREATE INDEX backfill_by_schedule ON public.backfill USING btree (account_id, schedule_id, backfill_id);
CREATE INDEX backfill_due ON public.backfill USING btree (next_round_at) WHERE (next_round_at IS NOT NULL);
CREATE INDEX backfill_under_way ON public.backfill USING btree (account_id, project_id) WHERE (ended_at IS NULL);

create table blob (
  account_id uuid not null,
  digest text not null,
  size bigint not null,
  created_at timestamp with time zone not null,
  object_key text not null,
  object_offset bigint not null,
  condemned_at timestamp with time zone,
  constraint blob_key PRIMARY KEY (account_id, digest)
);
CREATE INDEX blob_condemned ON public.blob USING btree (account_id, condemned_at) WHERE (condemned_at IS NOT NULL);

create table blob_object (
  account_id uuid not null,
  object_key text not null,
  state blob_object_state not null,
  size bigint not null,
  live_bytes bigint not null,
  since timestamp with time zone not null,
  constraint blob_object_key PRIMARY KEY (account_id, object_key),
  constraint blob_object_of_account FOREIGN KEY (account_id) REFERENCES account(account_id) ON DELETE CASCADE
);
CREATE INDEX blob_object_leaving ON public.blob_object USING btree (account_id, since) WHERE (state <> 'live'::blob_object_state);
CREATE INDEX blob_object_sparse ON public.blob_object USING btree (account_id, object_key) WHERE ((state = 'live'::blob_object_state) AND ((live_bytes * 2) < size));

create table budget (
  account_id uuid not null,
  project_id uuid not null,
  budget_id uuid not null,
  monthly_credits double precision not null,
  warn_at double precision not null,
  stop_at double precision,
  lifted_until timestamp with time zone,
  warned_month timestamp with time zone,
  exceeded_month timestamp with time zone,
  version bigint not null,
  constraint budget_key PRIMARY KEY (account_id, project_id),
  constraint budget_of_project FOREIGN KEY (account_id, project_id) REFERENCES project(account_id, project_id) ON DELETE CASCADE,
  constraint budget_order CHECK ((stop_at >= warn_at))
);

create table certificate_authority (
  authority_id uuid not null,
  certificate text not null,
  private_key_sealed bytea not null,
  created_at timestamp with time zone not null,
  not_after timestamp with time zone not null,
  constraint certificate_authority_key PRIMARY KEY (authority_id)
);

create table column_use (
  account_id uuid not null,
  project_id uuid not null,
  environment_name text not null,
  pipeline_key text not null,
  dataset text not null,
  field text not null,
  dataset_key text not null generated always as (md5(dataset)) stored,
  field_key text not null generated always as (md5(field)) stored,
  to_dataset text not null,
  to_field text,
  to_dataset_key text not null generated always as (md5(to_dataset)) stored,
  to_field_key text generated always as (md5(to_field)) stored,
  transformation text,
  constraint column_use_of_pipeline FOREIGN KEY (account_id, project_id, environment_name, pipeline_key) REFERENCES pipeline_lineage(account_id, project_id, environment_name, pipeline_key) ON DELETE CASCADE
);
CREATE INDEX column_use_by_pipeline ON public.column_use USING btree (account_id, project_id, environment_name, pipeline_key);
CREATE INDEX column_use_by_source ON public.column_use USING btree (account_id, project_id, environment_name, dataset_key, field_key);
CREATE INDEX column_use_by_target ON public.column_use USING btree (account_id, project_id, environment_name, to_dataset_key, to_field_key);

create table confirmation_day (
  account_id uuid not null,
  project_id uuid not null,
  day date not null,
  mails integer not null,
  constraint confirmation_day_key PRIMARY KEY (account_id, project_id, day),
  constraint confirmation_day_of_project FOREIGN KEY (account_id, project_id) REFERENCES project(account_id, project_id) ON DELETE CASCADE
);

create table connection (
  account_id uuid not null,
  project_id uuid not null,
  name text not null,
  connection_id uuid not null,
  platform_connection_type text not null,
  auth_provider text not null,
  auth_type text not null,
  details jsonb,
  version bigint not null,
  created_by uuid not null,
  created_at timestamp with time zone not null,
  constraint connection_name_taken PRIMARY KEY (account_id, project_id, name),
  constraint connection_of_project FOREIGN KEY (account_id, project_id) REFERENCES project(account_id, project_id) ON DELETE CASCADE
);

create table connection_override (
  account_id uuid not null,
  project_id uuid not null,
  environment_name text not null,
  connection_name text not null,
  overrides jsonb not null,
  created_by uuid not null,
  created_at timestamp with time zone not null,
  constraint connection_override_key PRIMARY KEY (account_id, project_id, environment_name, connection_name),
  constraint connection_override_in_environment FOREIGN KEY (account_id, project_id, environment_name) REFERENCES environment(account_id, project_id, name) ON DELETE CASCADE,
  constraint connection_override_of_connection FOREIGN KEY (account_id, project_id, connection_name) REFERENCES connection(account_id, project_id, name) ON DELETE CASCADE
);
CREATE INDEX connection_override_by_connection ON public.connection_override USING btree (account_id, project_id, connection_name);

create table connector_authorization (
  account_id uuid not null,
  project_id uuid not null,
  connector_oauth_id uuid not null,
  state_digest bytea not null,
  sealed_grant bytea not null,
  principal_id uuid not null,
  user_credential_id uuid,
  work_id uuid,
  expires_at timestamp with time zone not null,
  constraint connector_authorization_key PRIMARY KEY (account_id, project_id, connector_oauth_id),
  constraint connector_authorization_of_oauth FOREIGN KEY (account_id, project_id, connector_oauth_id) REFERENCES connector_oauth(account_id, project_id, connector_oauth_id) ON DELETE CASCADE,
  constraint connector_authorization_state UNIQUE (state_digest)
);
CREATE INDEX connector_authorization_by_age ON public.connector_authorization USING btree (expires_at);
CREATE UNIQUE INDEX connector_authorization_by_work ON public.connector_authorization USING btree (account_id, work_id) WHERE (work_id IS NOT NULL);

create table connector_oauth (
  account_id uuid not null,
  project_id uuid not null,
  connector_oauth_id uuid not null,
  name text not null,
  grant_type text not null,
  authorization_url text,
  token_url text not null,
  scopes text[] not null,
  client_id text,
  client_secret_reference text,
  token_secret_reference text,
  agent_id uuid,
  additional_parameters jsonb,
  state text not null,
  authorized_at timestamp with time zone,
  problem text,
  created_by uuid not null,
  created_at timestamp with time zone not null,
  constraint connector_oauth_key PRIMARY KEY (account_id, project_id, connector_oauth_id),
  constraint connector_oauth_grant_known CHECK ((grant_type = ANY (ARRAY['CLIENT_CREDENTIALS'::text, 'AUTHORIZATION_CODE'::text]))),
  constraint connector_oauth_of_project FOREIGN KEY (account_id, project_id) REFERENCES project(account_id, project_id) ON DELETE CASCADE,
  constraint connector_oauth_state_known CHECK ((state = ANY (ARRAY['PENDING'::text, 'AUTHORIZED'::text]))),
  constraint connector_oauth_taken UNIQUE (account_id, project_id, name)
);

create table connector_profile (
  account_id uuid not null,
  kind text not null,
  profile_id uuid not null,
  alternate_id text not null,
  name text not null,
  profile text not null,
  bytes integer not null,
  oauth_names text[] not null,
  version bigint not null,
  last_modified timestamp with time zone not null,
  deleted_at timestamp with time zone,
  constraint connector_profile_key PRIMARY KEY (account_id, kind, profile_id),
  constraint connector_profile_account_id_fkey FOREIGN KEY (account_id) REFERENCES account(account_id) ON DELETE CASCADE,
  constraint connector_profile_kind_known CHECK ((kind = ANY (ARRAY['flex'::text, 'custom'::text])))
);
CREATE UNIQUE INDEX connector_profile_alternate_id_taken ON public.connector_profile USING btree (account_id, kind, alternate_id) WHERE (deleted_at IS NULL);
CREATE UNIQUE INDEX connector_profile_name_taken ON public.connector_profile USING btree (account_id, kind, name) WHERE (deleted_at IS NULL);

create table consumption (
  account_id uuid not null,
  day timestamp with time zone not null,
  project_id uuid not null,
  environment_name text not null,
  pipeline_name text not null,
  kind text not null,
  runs bigint not null,
  milliseconds bigint not null,
  row_count bigint not null,
  byte_count bigint not null,
  input_tokens bigint not null,
  output_tokens bigint not null,
  credits numeric not null,
  constraint consumption_key PRIMARY KEY (account_id, day, project_id, environment_name, pipeline_name, kind),
  constraint consumption_account_id_fkey FOREIGN KEY (account_id) REFERENCES account(account_id) ON DELETE CASCADE
) with (fillfactor=70);

create table consumption_entry (
  entry_id bigint not null generated always as identity,
  account_id uuid not null,
  day timestamp with time zone not null,
  project_id uuid not null,
  project_name text not null,
  environment_name text not null,
  pipeline_name text not null,
  kind text not null,
  runs bigint not null,
  milliseconds bigint not null,
  row_count bigint not null,
  byte_count bigint not null,
  input_tokens bigint not null,
  output_tokens bigint not null,
  user_name text,
  constraint consumption_entry_key PRIMARY KEY (entry_id)
) with (autovacuum_vacuum_scale_factor=0.02, autovacuum_analyze_scale_factor=0.02);

create table consumption_month (
  account_id uuid not null,
  month timestamp with time zone not null,
  project_id uuid not null,
  project_name text not null,
  credits numeric not null,
  constraint consumption_month_key PRIMARY KEY (account_id, month, project_id),
  constraint consumption_month_account_id_fkey FOREIGN KEY (account_id) REFERENCES account(account_id) ON DELETE CASCADE
) with (fillfactor=70);

create table consumption_user (
  account_id uuid not null,
  day timestamp with time zone not null,
  user_name text not null,
  constraint consumption_user_key PRIMARY KEY (account_id, day, user_name),
  constraint consumption_user_account_id_fkey FOREIGN KEY (account_id) REFERENCES account(account_id) ON DELETE CASCADE
);

create table credential (
  account_id uuid not null,
  credential_id uuid not null,
  name text not null,
  client_id text not null,
  secret_digest bytea not null,
  account_role text not null,
  created_at timestamp with time zone not null,
  expires_at timestamp with time zone,
  revoked_at timestamp with time zone,
  previous_secret_digest bytea,
  previous_secret_until timestamp with time zone,
  last_used_at timestamp with time zone,
  constraint credential_key PRIMARY KEY (account_id, credential_id),
  constraint credential_account_role_known CHECK ((account_role = ANY (ARRAY['SUPER_ADMIN'::text, 'ADMIN'::text, 'BILLING_ADMIN'::text, 'MEMBER'::text, 'DIRECTORY'::text]))),
  constraint credential_client_id_taken UNIQUE (client_id),
  constraint credential_of_account FOREIGN KEY (account_id) REFERENCES account(account_id) ON DELETE CASCADE
);
CREATE INDEX credential_by_name ON public.credential USING btree (account_id, name, credential_id) WHERE (revoked_at IS NULL);
CREATE INDEX credential_newest ON public.credential USING btree (account_id, created_at DESC, credential_id DESC);
CREATE INDEX credential_super_admins ON public.credential USING btree (account_id, credential_id) WHERE ((account_role = 'SUPER_ADMIN'::text) AND (expires_at IS NULL) AND (revoked_at IS NULL));

create table custom_role (
  account_id uuid not null,
  name text not null,
  description text,
  level text not null,
  permissions text[] not null,
  version bigint not null,
  created_at timestamp with time zone not null,
  updated_at timestamp with time zone not null,
  constraint custom_role_name_taken PRIMARY KEY (account_id, name),
  constraint custom_role_level_known CHECK ((level = ANY (ARRAY['PROJECT'::text, 'ENVIRONMENT'::text]))),
  constraint custom_role_name_form CHECK ((name ~ '^[A-Z][A-Z0-9_]{0,49}$'::text)),
  constraint custom_role_name_free CHECK ((name <> ALL (ARRAY['SUPER_ADMIN'::text, 'ADMIN'::text, 'BILLING_ADMIN'::text, 'MEMBER'::text, 'DIRECTORY'::text, 'OWNER'::text, 'CONTRIBUTOR'::text, 'OPERATOR'::text, 'VIEWER'::text]))),
  constraint custom_role_of_account FOREIGN KEY (account_id) REFERENCES account(account_id) ON DELETE CASCADE
);

create table dataset_use (
  account_id uuid not null,
  project_id uuid not null,
  environment_name text not null,
  pipeline_key text not null,
  is_write boolean not null,
  dataset text not null,
  dataset_key text not null generated always as (md5(dataset)) stored,
  fields jsonb,
  row_count bigint,
  written_at timestamp with time zone,
  constraint dataset_use_key PRIMARY KEY (account_id, project_id, environment_name, pipeline_key, is_write, dataset_key),
  constraint dataset_use_of_pipeline FOREIGN KEY (account_id, project_id, environment_name, pipeline_key) REFERENCES pipeline_lineage(account_id, project_id, environment_name, pipeline_key) ON DELETE CASCADE
);
CREATE INDEX dataset_use_by_dataset ON public.dataset_use USING btree (account_id, project_id, environment_name, dataset_key, is_write, pipeline_key);

create table deleted_environment (
  account_id uuid not null,
  project_id uuid not null,
  environment_name text not null,
  generation integer not null,
  environment_id uuid,
  constraint deleted_environment_key PRIMARY KEY (account_id, project_id, environment_name)
);

create table delivery_rule (
  account_id uuid not null,
  project_id uuid not null,
  branch_name text not null,
  environment_name text not null,
  written_by uuid not null,
  written_at timestamp with time zone not null,
  commit_hash text,
  published_at timestamp with time zone,
  version_name text,
  problem text,
  pushers jsonb,
  findings text,
  work_id uuid not null default gen_random_uuid(),
  constraint delivery_rule_key PRIMARY KEY (account_id, project_id, branch_name, environment_name),
  constraint delivery_rule_repository FOREIGN KEY (account_id, project_id) REFERENCES repository(account_id, project_id) ON DELETE CASCADE,
  constraint delivery_rule_work UNIQUE (account_id, work_id)
);

create table directory_group (
  account_id uuid not null,
  group_id uuid not null,
  display_name text not null,
  display_name_key text not null,
  external_id text,
  role text,
  project_id uuid,
  project_name text,
  environment text,
  attributes jsonb not null,
  version bigint not null,
  created_at timestamp with time zone not null,
  updated_at timestamp with time zone not null,
  constraint directory_group_key PRIMARY KEY (account_id, group_id),
  constraint directory_group_name_taken UNIQUE (account_id, display_name_key),
  constraint directory_group_of_account FOREIGN KEY (account_id) REFERENCES account(account_id) ON DELETE CASCADE
);
CREATE INDEX directory_group_by_external_id ON public.directory_group USING btree (account_id, external_id) WHERE (external_id IS NOT NULL);

create table directory_member (
  account_id uuid not null,
  group_id uuid not null,
  user_id uuid not null,
  identity_issuer_id uuid,
  added_by uuid,
  added_at timestamp with time zone,
  expires_at timestamp with time zone,
  reason text,
  constraint directory_member_key PRIMARY KEY (account_id, group_id, user_id),
  constraint directory_member_of_group FOREIGN KEY (account_id, group_id) REFERENCES directory_group(account_id, group_id) ON DELETE CASCADE,
  constraint directory_member_of_issuer FOREIGN KEY (account_id, identity_issuer_id) REFERENCES identity_issuer(account_id, identity_issuer_id) ON DELETE SET NULL (identity_issuer_id),
  constraint directory_member_of_user FOREIGN KEY (account_id, user_id) REFERENCES directory_user(account_id, user_id) ON DELETE CASCADE
);
CREATE INDEX directory_member_by_end ON public.directory_member USING btree (expires_at) WHERE (expires_at IS NOT NULL);
CREATE INDEX directory_member_by_issuer ON public.directory_member USING btree (account_id, identity_issuer_id) WHERE (identity_issuer_id IS NOT NULL);
CREATE INDEX directory_member_by_user ON public.directory_member USING btree (account_id, user_id, group_id) INCLUDE (expires_at);

create table directory_role (
  account_id uuid not null,
  group_id uuid not null,
  project_id uuid,
  environment_name text,
  role text not null,
  constraint directory_role_in_environment FOREIGN KEY (account_id, project_id, environment_name) REFERENCES environment(account_id, project_id, name) ON DELETE CASCADE,
  constraint directory_role_in_project FOREIGN KEY (account_id, project_id) REFERENCES project(account_id, project_id) ON DELETE CASCADE,
  constraint directory_role_known CHECK (
CASE
    WHEN (environment_name IS NOT NULL) THEN ((project_id IS NOT NULL) AND (role <> ALL (ARRAY['SUPER_ADMIN'::text, 'ADMIN'::text, 'BILLING_ADMIN'::text, 'MEMBER'::text, 'DIRECTORY'::text])))
    WHEN (project_id IS NOT NULL) THEN (role <> ALL (ARRAY['SUPER_ADMIN'::text, 'ADMIN'::text, 'BILLING_ADMIN'::text, 'MEMBER'::text, 'DIRECTORY'::text, 'OPERATOR'::text]))
    ELSE (role = ANY (ARRAY['SUPER_ADMIN'::text, 'ADMIN'::text, 'BILLING_ADMIN'::text, 'MEMBER'::text]))
END),
  constraint directory_role_of_group FOREIGN KEY (account_id, group_id) REFERENCES directory_group(account_id, group_id) ON DELETE CASCADE,
  constraint directory_role_once UNIQUE NULLS NOT DISTINCT (account_id, group_id, project_id, environment_name, role)
);
CREATE INDEX directory_role_by_project ON public.directory_role USING btree (account_id, project_id, environment_name);
CREATE INDEX directory_role_of_account ON public.directory_role USING btree (account_id, role, group_id) WHERE (project_id IS NULL);
CREATE INDEX directory_role_of_places ON public.directory_role USING btree (account_id, role, group_id) WHERE (project_id IS NOT NULL);

create table directory_user (
  account_id uuid not null,
  user_id uuid not null,
  user_name text not null,
  user_name_key text not null,
  external_id text,
  display_name text,
  active boolean not null,
  attributes jsonb not null,
  version bigint not null,
  created_at timestamp with time zone not null,
  updated_at timestamp with time zone not null,
  last_signed_in_at timestamp with time zone,
  constraint directory_user_key PRIMARY KEY (account_id, user_id),
  constraint directory_user_name_taken UNIQUE (account_id, user_name_key),
  constraint directory_user_of_account FOREIGN KEY (account_id) REFERENCES account(account_id) ON DELETE CASCADE
);
CREATE INDEX directory_user_by_external_id ON public.directory_user USING btree (account_id, external_id) WHERE (external_id IS NOT NULL);

create table dropped_repository (
  account_id uuid not null,
  project_id uuid not null,
  folder text not null,
  repository_name text not null,
  dropped_at timestamp with time zone not null,
  moved_at timestamp with time zone,
  constraint dropped_repository_key PRIMARY KEY (folder)
);
CREATE INDEX dropped_repository_age ON public.dropped_repository USING btree (dropped_at);
CREATE INDEX dropped_repository_to_move ON public.dropped_repository USING btree (account_id, project_id) WHERE (moved_at IS NULL);

create table enterprise_oauth (
  account_id uuid not null,
  enterprise_oauth_id uuid not null,
  name text not null,
  provider text not null,
  base_url text,
  client_id text not null,
  tenant_id text,
  installation_id text,
  sealed_secrets bytea not null,
  version bigint not null,
  created_by uuid not null,
  created_at timestamp with time zone not null,
  constraint enterprise_oauth_key PRIMARY KEY (account_id, enterprise_oauth_id),
  constraint enterprise_oauth_account_id_fkey FOREIGN KEY (account_id) REFERENCES account(account_id) ON DELETE CASCADE,
  constraint enterprise_oauth_name UNIQUE (account_id, name),
  constraint enterprise_oauth_provider CHECK ((provider = ANY (ARRAY['github'::text, 'gitlab'::text, 'azure-devops'::text])))
);

create table enterprise_oauth_project (
  account_id uuid not null,
  enterprise_oauth_id uuid not null,
  project_id uuid not null,
  constraint enterprise_oauth_project_key PRIMARY KEY (account_id, enterprise_oauth_id, project_id),
  constraint enterprise_oauth_project_in_project FOREIGN KEY (account_id, project_id) REFERENCES project(account_id, project_id) ON DELETE CASCADE,
  constraint enterprise_oauth_project_of_oauth FOREIGN KEY (account_id, enterprise_oauth_id) REFERENCES enterprise_oauth(account_id, enterprise_oauth_id) ON DELETE CASCADE
);
CREATE INDEX enterprise_oauth_project_by_project ON public.enterprise_oauth_project USING btree (account_id, project_id);

create table environment (
  account_id uuid not null,
  project_id uuid not null,
  name text not null,
  display_name text,
  description text,
  default_agent_id uuid,
  default_user_access_level text not null,
  version bigint not null,
  created_at timestamp with time zone not null,
  generation integer not null default 1,
  environment_id uuid not null default gen_random_uuid(),
  quality_gate text not null default 'NONE'::text,
  quality_gate_rules jsonb,
  constraint environment_key PRIMARY KEY (account_id, project_id, name),
  constraint environment_default_agent FOREIGN KEY (account_id, default_agent_id) REFERENCES agent(account_id, agent_id) ON DELETE SET NULL (default_agent_id),
  constraint environment_of_project FOREIGN KEY (account_id, project_id) REFERENCES project(account_id, project_id) ON DELETE CASCADE,
  constraint environment_quality_gate CHECK ((quality_gate = ANY (ARRAY['NONE'::text, 'WARN'::text, 'REQUIRED'::text])))
);
CREATE INDEX environment_by_default_agent ON public.environment USING btree (account_id, default_agent_id) WHERE (default_agent_id IS NOT NULL);
CREATE INDEX environment_of_users ON public.environment USING btree (account_id, project_id) WHERE (default_user_access_level = ANY (ARRAY['admin'::text, 'runner'::text, 'readOnly'::text]));
CREATE INDEX environment_without_agent ON public.environment USING btree (account_id) WHERE (default_agent_id IS NULL);

create table environment_connection_override (
  account_id uuid not null,
  project_id uuid not null,
  environment_name text not null,
  connection_name text not null,
  properties jsonb not null,
  constraint environment_connection_override_key PRIMARY KEY (account_id, project_id, environment_name, connection_name),
  constraint environment_connection_override_in_environment FOREIGN KEY (account_id, project_id, environment_name) REFERENCES environment(account_id, project_id, name) ON DELETE CASCADE,
  constraint environment_connection_override_of_connection FOREIGN KEY (account_id, project_id, connection_name) REFERENCES connection(account_id, project_id, name) ON DELETE CASCADE
);
CREATE INDEX environment_connection_override_by_connection ON public.environment_connection_override USING btree (account_id, project_id, connection_name);

create table environment_default_connection (
  account_id uuid not null,
  project_id uuid not null,
  environment_name text not null,
  platform_connection_type text not null,
  auth_provider text not null,
  connection_name text not null,
  constraint environment_default_connection_key PRIMARY KEY (account_id, project_id, environment_name, platform_connection_type, auth_provider),
  constraint environment_default_connection_in_environment FOREIGN KEY (account_id, project_id, environment_name) REFERENCES environment(account_id, project_id, name) ON DELETE CASCADE,
  constraint environment_default_connection_of_connection FOREIGN KEY (account_id, project_id, connection_name) REFERENCES connection(account_id, project_id, name) ON DELETE CASCADE
);
CREATE INDEX environment_default_connection_by_connection ON public.environment_default_connection USING btree (account_id, project_id, connection_name);

create table event (
  account_id uuid not null,
  occurred_at timestamp with time zone not null,
  event_id uuid not null,
  name text not null,
  actor_id uuid,
  actor_kind text not null,
  request_id uuid,
  project_id uuid,
  subject_type text not null,
  subject_id text not null,
  subject_name text,
  state_before jsonb,
  state_after jsonb,
  actor_name text,
  sequence bigint not null default 
CASE
    WHEN (pg_current_xact_id() IS NOT NULL) THEN nextval('event_sequence'::regclass)
    ELSE NULL::bigint
END,
  position bigint,
  environment_name text,
  constraint event_key PRIMARY KEY (account_id, occurred_at, event_id)
);
CREATE UNIQUE INDEX event_by_position ON public.event USING btree (account_id, "position") WHERE ("position" IS NOT NULL);
CREATE INDEX event_pending ON public.event USING btree (account_id, sequence) WHERE ("position" IS NULL);

create table event_position (
  account_id uuid not null,
  last_position bigint not null default 0,
  removed_position bigint not null default 0,
  last_sequence bigint not null default 0,
  settled_sequence bigint not null default 0,
  marked_sequence bigint not null default 0,
  marked_transaction xid8,
  constraint event_position_key PRIMARY KEY (account_id)
) with (fillfactor=50);

create table execution_log_line (
  account_id uuid not null,
  execution_id uuid not null,
  sequence integer not null,
  step_id uuid not null,
  pipeline_run_id uuid not null,
  stream text not null,
  printed_at timestamp with time zone not null,
  line text not null,
  constraint execution_log_line_key PRIMARY KEY (account_id, execution_id, sequence),
  constraint execution_log_line_of_execution FOREIGN KEY (account_id, execution_id) REFERENCES pipeline_execution(account_id, execution_id) ON DELETE CASCADE
);

create table execution_step (
  account_id uuid not null,
  execution_id uuid not null,
  step_id uuid not null,
  ordinal bigint not null generated always as identity,
  pipeline_run_id uuid not null,
  name text not null,
  component_type text not null,
  status text not null,
  message text,
  row_count bigint,
  child_pipeline_id uuid,
  child_pipeline_name text,
  started_at timestamp with time zone not null,
  finished_at timestamp with time zone,
  sql text,
  progress jsonb,
  attempt integer,
  restart jsonb,
  byte_count bigint,
  constraint execution_step_key PRIMARY KEY (account_id, execution_id, step_id),
  constraint execution_step_of_execution FOREIGN KEY (account_id, execution_id) REFERENCES pipeline_execution(account_id, execution_id) ON DELETE CASCADE
);
CREATE UNIQUE INDEX execution_step_announces_once ON public.execution_step USING btree (account_id, child_pipeline_id) WHERE (child_pipeline_id IS NOT NULL);
CREATE INDEX execution_step_by_run ON public.execution_step USING btree (account_id, pipeline_run_id, started_at, ordinal);

create table execution_variables (
  account_id uuid not null,
  execution_id uuid not null,
  pipeline_run_id uuid not null,
  variables jsonb not null,
  constraint execution_variables_key PRIMARY KEY (account_id, execution_id, pipeline_run_id),
  constraint execution_variables_of_execution FOREIGN KEY (account_id, execution_id) REFERENCES pipeline_execution(account_id, execution_id) ON DELETE CASCADE
);

create table git_hook_delivery (
  account_id uuid not null,
  project_id uuid not null,
  delivery_id text not null,
  received_at timestamp with time zone not null,
  constraint git_hook_delivery_key PRIMARY KEY (account_id, project_id, delivery_id),
  constraint git_hook_delivery_repository FOREIGN KEY (account_id, project_id) REFERENCES repository(account_id, project_id) ON DELETE CASCADE
);
CREATE INDEX git_hook_delivery_age ON public.git_hook_delivery USING btree (received_at);

create table git_review (
  account_id uuid not null,
  project_id uuid not null,
  branch_name text not null,
  commit_hash text,
  outcome text,
  errors integer,
  warnings integer,
  findings jsonb,
  checked_at timestamp with time zone,
  problem text,
  touched_at timestamp with time zone not null,
  work_id uuid not null default gen_random_uuid(),
  constraint git_review_key PRIMARY KEY (account_id, project_id, branch_name),
  constraint git_review_outcome CHECK ((outcome = ANY (ARRAY['success'::text, 'failure'::text]))),
  constraint git_review_repository FOREIGN KEY (account_id, project_id) REFERENCES repository(account_id, project_id) ON DELETE CASCADE,
  constraint git_review_work UNIQUE (account_id, work_id)
);
CREATE INDEX git_review_age ON public.git_review USING btree (touched_at);

create table git_token_seen (
  account_id uuid not null,
  fingerprint bytea not null,
  seen_at timestamp with time zone not null,
  constraint git_token_seen_key PRIMARY KEY (account_id, fingerprint),
  constraint git_token_seen_account_id_fkey FOREIGN KEY (account_id) REFERENCES account(account_id) ON DELETE CASCADE
);
CREATE INDEX git_token_seen_age ON public.git_token_seen USING btree (seen_at);

create table idempotency_record (
  account_id uuid not null,
  key_digest bytea not null,
  request_digest bytea not null,
  status smallint,
  headers jsonb,
  body text,
  expires_at timestamp with time zone not null,
  body_sealed bytea,
  pending_work_id uuid,
  pending_until timestamp with time zone,
  constraint idempotency_record_key PRIMARY KEY (account_id, key_digest),
  constraint idempotency_record_answered_or_pending CHECK (((status IS NULL) = (pending_work_id IS NOT NULL)))
) with (autovacuum_vacuum_scale_factor=0.05, autovacuum_analyze_scale_factor=0.05, vacuum_truncate=false);
CREATE INDEX idempotency_record_by_expiry ON public.idempotency_record USING btree (expires_at);

create table identity_issuer (
  account_id uuid not null,
  identity_issuer_id uuid not null,
  name text not null,
  issuer text not null,
  client_id text not null,
  client_secret_sealed bytea,
  scopes text[] not null,
  subject_claim text not null,
  user_claim text not null,
  user_attribute text not null,
  domains text[] not null,
  creates_users boolean not null,
  enabled boolean not null,
  version bigint not null,
  created_at timestamp with time zone not null,
  updated_at timestamp with time zone not null,
  groups_claim text,
  constraint identity_issuer_key PRIMARY KEY (account_id, identity_issuer_id),
  constraint identity_issuer_attribute_known CHECK ((user_attribute = ANY (ARRAY['userName'::text, 'externalId'::text]))),
  constraint identity_issuer_id_taken UNIQUE (identity_issuer_id),
  constraint identity_issuer_name_taken UNIQUE (account_id, name),
  constraint identity_issuer_of_account FOREIGN KEY (account_id) REFERENCES account(account_id) ON DELETE CASCADE,
  constraint identity_issuer_taken UNIQUE (account_id, issuer)
);

create table invitation (
  account_id uuid not null,
  invitation_id uuid not null,
  user_name text not null,
  user_name_key text not null,
  display_name text,
  email text,
  secret_digest bytea not null,
  created_by uuid not null,
  created_at timestamp with time zone not null,
  expires_at timestamp with time zone not null,
  constraint invitation_key PRIMARY KEY (account_id, invitation_id),
  constraint invitation_of_account FOREIGN KEY (account_id) REFERENCES account(account_id) ON DELETE CASCADE,
  constraint invitation_secret_taken UNIQUE (secret_digest),
  constraint invitation_taken UNIQUE (account_id, user_name_key)
);

create table invitation_group (
  account_id uuid not null,
  invitation_id uuid not null,
  group_id uuid not null,
  constraint invitation_group_key PRIMARY KEY (account_id, invitation_id, group_id),
  constraint invitation_group_of_group FOREIGN KEY (account_id, group_id) REFERENCES directory_group(account_id, group_id) ON DELETE CASCADE,
  constraint invitation_group_of_invitation FOREIGN KEY (account_id, invitation_id) REFERENCES invitation(account_id, invitation_id) ON DELETE CASCADE
);
CREATE INDEX invitation_group_by_group ON public.invitation_group USING btree (account_id, group_id);

create table invitation_role (
  account_id uuid not null,
  invitation_id uuid not null,
  project_id uuid not null,
  environment_name text,
  role text not null,
  constraint invitation_role_in_environment FOREIGN KEY (account_id, project_id, environment_name) REFERENCES environment(account_id, project_id, name) ON DELETE CASCADE,
  constraint invitation_role_in_project FOREIGN KEY (account_id, project_id) REFERENCES project(account_id, project_id) ON DELETE CASCADE,
  constraint invitation_role_of_invitation FOREIGN KEY (account_id, invitation_id) REFERENCES invitation(account_id, invitation_id) ON DELETE CASCADE,
  constraint invitation_role_once UNIQUE NULLS NOT DISTINCT (account_id, invitation_id, project_id, environment_name, role)
);
CREATE INDEX invitation_role_by_project ON public.invitation_role USING btree (account_id, project_id, environment_name);
CREATE INDEX invitation_role_by_role ON public.invitation_role USING btree (account_id, role);

create table lineage_event (
  account_id uuid not null,
  generated_at timestamp with time zone not null,
  sequence bigint not null generated always as identity,
  run_id uuid not null,
  event_type text not null,
  record jsonb not null,
  is_new boolean not null default false,
  work_id uuid,
  constraint lineage_event_key PRIMARY KEY (account_id, generated_at, sequence),
  constraint lineage_event_type CHECK ((event_type = ANY (ARRAY['START'::text, 'COMPLETE'::text, 'FAIL'::text, 'ABORT'::text])))
);
CREATE INDEX lineage_event_new ON public.lineage_event USING btree (sequence) WHERE is_new;
CREATE UNIQUE INDEX lineage_event_once ON public.lineage_event USING btree (account_id, run_id, ((event_type = 'START'::text)));
CREATE INDEX lineage_event_waiting ON public.lineage_event USING btree (account_id, ((record ->> 'environmentId'::text)), md5((record ->> 'pipelineName'::text))) WHERE (work_id IS NOT NULL);
CREATE UNIQUE INDEX lineage_event_work ON public.lineage_event USING btree (account_id, work_id) WHERE (work_id IS NOT NULL);

create table mail_address (
  address text not null,
  refused_at timestamp with time zone,
  asked_on date not null,
  asked integer not null,
  constraint mail_address_key PRIMARY KEY (address)
);
CREATE INDEX mail_address_old ON public.mail_address USING btree (asked_on) WHERE (refused_at IS NULL);

create table mail_day (
  account_id uuid not null,
  day date not null,
  mails integer not null,
  withheld integer not null,
  constraint mail_day_key PRIMARY KEY (account_id, day),
  constraint mail_day_of_account FOREIGN KEY (account_id) REFERENCES account(account_id) ON DELETE CASCADE
);

create table mail_recipient (
  account_id uuid not null,
  address text not null,
  recipient_id uuid not null,
  token_digest bytea,
  token_expires_at timestamp with time zone,
  asked_at timestamp with time zone,
  confirmed_at timestamp with time zone,
  refused_at timestamp with time zone,
  created_at timestamp with time zone not null,
  asks integer not null default 0,
  constraint mail_recipient_key PRIMARY KEY (account_id, address),
  constraint mail_recipient_id_taken UNIQUE (recipient_id),
  constraint mail_recipient_of_account FOREIGN KEY (account_id) REFERENCES account(account_id) ON DELETE CASCADE
);
CREATE UNIQUE INDEX mail_recipient_by_token ON public.mail_recipient USING btree (token_digest) WHERE (token_digest IS NOT NULL);
CREATE INDEX mail_recipient_unanswered ON public.mail_recipient USING btree (asked_at) WHERE ((confirmed_at IS NULL) AND (refused_at IS NULL));

create table manifest (
  account_id uuid not null,
  digest text not null,
  pipelines jsonb not null,
  created_at timestamp with time zone not null,
  condemned_at timestamp with time zone,
  chunks bytea[] not null,
  constraint manifest_key PRIMARY KEY (account_id, digest),
  constraint manifest_of_account FOREIGN KEY (account_id) REFERENCES account(account_id) ON DELETE CASCADE
);
CREATE INDEX manifest_by_chunk ON public.manifest USING gin (chunks);
CREATE INDEX manifest_condemned ON public.manifest USING btree (account_id, condemned_at) WHERE (condemned_at IS NOT NULL);

create table manifest_chunk (
  account_id uuid not null,
  digest bytea not null,
  paths text[] not null,
  digests bytea[] not null,
  sizes bigint[] not null,
  constraint manifest_chunk_key PRIMARY KEY (account_id, digest),
  constraint manifest_chunk_of_account FOREIGN KEY (account_id) REFERENCES account(account_id) ON DELETE CASCADE
);
CREATE INDEX manifest_chunk_by_blob ON public.manifest_chunk USING gin (digests);

create table passkey (
  account_id uuid not null,
  passkey_id uuid not null,
  user_id uuid not null,
  name text not null,
  credential_id bytea not null,
  public_key bytea not null,
  sign_count bigint not null,
  transports text[] not null,
  is_synced boolean not null,
  challenge_at timestamp with time zone,
  created_at timestamp with time zone not null,
  last_used_at timestamp with time zone,
  constraint passkey_key PRIMARY KEY (account_id, passkey_id),
  constraint passkey_credential_taken UNIQUE (credential_id),
  constraint passkey_of_user FOREIGN KEY (account_id, user_id) REFERENCES directory_user(account_id, user_id) ON DELETE CASCADE
);
CREATE INDEX passkey_by_user ON public.passkey USING btree (account_id, user_id, passkey_id DESC);

create table personal_token (
  account_id uuid not null,
  personal_token_id uuid not null,
  user_id uuid not null,
  name text not null,
  secret_digest bytea not null,
  account_role text,
  roles jsonb not null,
  created_at timestamp with time zone not null,
  expires_at timestamp with time zone not null,
  last_used_at timestamp with time zone,
  constraint personal_token_key PRIMARY KEY (account_id, personal_token_id),
  constraint personal_token_of_user FOREIGN KEY (account_id, user_id) REFERENCES directory_user(account_id, user_id) ON DELETE CASCADE,
  constraint personal_token_secret_taken UNIQUE (secret_digest)
);
CREATE INDEX personal_token_by_role ON public.personal_token USING gin (roles jsonb_path_ops);
CREATE INDEX personal_token_by_user ON public.personal_token USING btree (account_id, user_id, personal_token_id DESC);

create table pipeline_execution (
  account_id uuid not null,
  execution_id uuid not null,
  project_id uuid not null,
  environment_name text not null,
  pipeline_name text not null,
  pipeline_type text not null,
  version_name text not null,
  manifest_digest text not null,
  agent_id uuid not null,
  status execution_status not null,
  trigger text not null,
  execution_tag text,
  running_tag text,
  scalar_variables jsonb not null,
  grid_variables jsonb not null,
  user_name text,
  message text,
  started_at timestamp with time zone not null,
  finished_at timestamp with time zone,
  shared_artifacts jsonb,
  restart_of uuid,
  restart jsonb,
  agent_lost boolean not null default false,
  schedule_id uuid,
  schedule_tick timestamp with time zone,
  backfill_id uuid,
  constraint pipeline_execution_key PRIMARY KEY (account_id, execution_id),
  constraint pipeline_execution_in_project FOREIGN KEY (account_id, project_id) REFERENCES project(account_id, project_id) ON DELETE CASCADE
) with (fillfactor=70);
CREATE INDEX pipeline_execution_by_backfill ON public.pipeline_execution USING btree (account_id, backfill_id, status, execution_id) WHERE (backfill_id IS NOT NULL);
CREATE INDEX pipeline_execution_by_place ON public.pipeline_execution USING btree (account_id, project_id, environment_name, pipeline_name, status, execution_id);
CREATE INDEX pipeline_execution_by_schedule ON public.pipeline_execution USING btree (account_id, schedule_id, status, execution_id) WHERE (schedule_id IS NOT NULL);
CREATE UNIQUE INDEX pipeline_execution_restarted_once ON public.pipeline_execution USING btree (account_id, restart_of) WHERE (restart_of IS NOT NULL);
CREATE UNIQUE INDEX pipeline_execution_tag_running ON public.pipeline_execution USING btree (account_id, project_id, environment_name, running_tag) WHERE (running_tag IS NOT NULL);
CREATE INDEX pipeline_execution_unended ON public.pipeline_execution USING btree (account_id, project_id, execution_id) WHERE (status = ANY (ARRAY['RUNNING'::execution_status, 'CANCELLING'::execution_status, 'UNKNOWN'::execution_status]));

create table pipeline_lineage (
  account_id uuid not null,
  project_id uuid not null,
  environment_name text not null,
  pipeline_name text not null,
  pipeline_key text not null generated always as (md5(pipeline_name)) stored,
  run_id uuid not null,
  execution_id uuid not null,
  version_name text not null,
  finished_at timestamp with time zone not null,
  digest text not null,
  omitted_columns integer not null default 0,
  constraint pipeline_lineage_key PRIMARY KEY (account_id, project_id, environment_name, pipeline_key),
  constraint pipeline_lineage_in_environment FOREIGN KEY (account_id, project_id, environment_name) REFERENCES environment(account_id, project_id, name) ON DELETE CASCADE
);

create table program_authorization (
  authorization_id uuid not null,
  kind text not null,
  client_id text not null,
  status text not null,
  code_digest bytea not null,
  user_code_digest bytea,
  redirect_uri text,
  code_challenge text,
  address text not null,
  user_agent text not null,
  interval_seconds integer not null,
  last_polled_at timestamp with time zone,
  account_id uuid,
  user_id uuid,
  browser_session_id uuid,
  session_id uuid,
  created_at timestamp with time zone not null,
  expires_at timestamp with time zone not null,
  constraint program_authorization_key PRIMARY KEY (authorization_id),
  constraint program_authorization_code_taken UNIQUE (code_digest),
  constraint program_authorization_kind_known CHECK ((kind = ANY (ARRAY['DEVICE'::text, 'CODE'::text]))),
  constraint program_authorization_of_user FOREIGN KEY (account_id, user_id) REFERENCES directory_user(account_id, user_id) ON DELETE CASCADE,
  constraint program_authorization_status_known CHECK ((status = ANY (ARRAY['PENDING'::text, 'APPROVED'::text, 'DENIED'::text, 'USED'::text]))),
  constraint program_authorization_user_code_taken UNIQUE (user_code_digest)
);
CREATE INDEX program_authorization_by_address ON public.program_authorization USING btree (address, expires_at) WHERE (status = 'PENDING'::text);
CREATE INDEX program_authorization_by_end ON public.program_authorization USING btree (expires_at);
CREATE INDEX program_authorization_by_user ON public.program_authorization USING btree (account_id, user_id) WHERE (user_id IS NOT NULL);

create table project (
  account_id uuid not null,
  project_id uuid not null,
  name text not null,
  description text,
  warehouse text not null,
  agent_deployment_type text not null,
  version bigint not null,
  created_at timestamp with time zone not null,
  sql_dialect text not null default 'SNOWFLAKE'::text,
  ignores_access_statements boolean not null default false,
  constraint project_key PRIMARY KEY (account_id, project_id),
  constraint project_name_taken UNIQUE (account_id, name),
  constraint project_of_account FOREIGN KEY (account_id) REFERENCES account(account_id) ON DELETE CASCADE,
  constraint project_sql_dialect_check CHECK ((sql_dialect = ANY (ARRAY['SNOWFLAKE'::text, 'REDSHIFT'::text])))
);

create table project_counter (
  account_id uuid not null,
  project_id uuid not null,
  kind text not null,
  slot smallint not null,
  count bigint not null,
  constraint project_counter_key PRIMARY KEY (account_id, project_id, kind, slot),
  constraint project_counter_of_project FOREIGN KEY (account_id, project_id) REFERENCES project(account_id, project_id) ON DELETE CASCADE
) with (fillfactor=50);

create table project_tag (
  account_id uuid not null,
  project_id uuid not null,
  name text not null,
  project_tag_id uuid not null,
  value text not null,
  version bigint not null,
  created_at timestamp with time zone not null,
  constraint project_tag_name_taken PRIMARY KEY (account_id, project_id, name),
  constraint project_tag_of_project FOREIGN KEY (account_id, project_id) REFERENCES project(account_id, project_id) ON DELETE CASCADE
);
CREATE INDEX project_tag_found ON public.project_tag USING btree (account_id, name, value);

create table repositories_folder (
  one boolean not null default true,
  marker uuid not null,
  constraint repositories_folder_key PRIMARY KEY (one),
  constraint repositories_folder_one CHECK (one)
);

create table repository (
  account_id uuid not null,
  project_id uuid not null,
  provider text not null,
  repository_name text not null,
  clone_url text,
  provider_parameters jsonb not null,
  default_branch text,
  protected_branches text[],
  enterprise_oauth_id uuid,
  sealed_credential bytea,
  credential_origin text,
  credential_expires_at timestamp with time zone,
  sealed_hook_secret bytea,
  version bigint not null,
  created_by uuid not null,
  created_at timestamp with time zone not null,
  updated_at timestamp with time zone not null,
  renewal_until timestamp with time zone,
  credential_problem text,
  constraint repository_key PRIMARY KEY (account_id, project_id),
  constraint repository_address CHECK (((provider = 'headgate'::text) = (clone_url IS NULL))),
  constraint repository_oauth FOREIGN KEY (account_id, enterprise_oauth_id) REFERENCES enterprise_oauth(account_id, enterprise_oauth_id),
  constraint repository_project FOREIGN KEY (account_id, project_id) REFERENCES project(account_id, project_id) ON DELETE CASCADE,
  constraint repository_provider CHECK ((provider = ANY (ARRAY['github'::text, 'gitlab'::text, 'azure-devops'::text, 'git'::text, 'headgate'::text])))
);
CREATE INDEX repository_of_oauth ON public.repository USING btree (account_id, enterprise_oauth_id) WHERE (enterprise_oauth_id IS NOT NULL);
CREATE INDEX repository_of_project ON public.repository USING btree (project_id);
CREATE INDEX repository_token_renewal ON public.repository USING btree (credential_expires_at) WHERE ((provider = 'gitlab'::text) AND (sealed_credential IS NOT NULL));

create table repository_migration (
  account_id uuid not null,
  project_id uuid not null,
  migration_id uuid not null,
  mode text not null,
  status text not null,
  phase text not null,
  target_provider text not null,
  target_name text not null,
  target_clone_url text not null,
  provider_parameters jsonb not null,
  enterprise_oauth_id uuid,
  overwrite boolean not null,
  sealed_token bytea,
  token_rotation text,
  token_expires_at timestamp with time zone,
  percent smallint not null default 0,
  bytes bigint not null default 0,
  detail text,
  code text,
  report jsonb,
  requested_by uuid not null,
  created_at timestamp with time zone not null,
  started_at timestamp with time zone,
  ended_at timestamp with time zone,
  constraint repository_migration_key PRIMARY KEY (account_id, project_id, migration_id),
  constraint repository_migration_mode CHECK ((mode = ANY (ARRAY['MIRROR_PUSH'::text, 'RECONFIGURE'::text]))),
  constraint repository_migration_project FOREIGN KEY (account_id, project_id) REFERENCES project(account_id, project_id) ON DELETE CASCADE,
  constraint repository_migration_rotation CHECK ((token_rotation = ANY (ARRAY['rotating'::text, 'rotated'::text, 'stored'::text]))),
  constraint repository_migration_status CHECK ((status = ANY (ARRAY['IN_PROGRESS'::text, 'COMPLETED'::text, 'FAILED'::text])))
);
CREATE UNIQUE INDEX repository_migration_lock ON public.repository_migration USING btree (account_id, project_id) WHERE (status = 'IN_PROGRESS'::text);

create table repository_write (
  account_id uuid not null,
  project_id uuid not null,
  write_id uuid not null,
  moves jsonb not null,
  actor_id uuid not null,
  actor_kind text not null,
  request_id uuid,
  begun_at timestamp with time zone not null,
  lease_until timestamp with time zone,
  constraint repository_write_key PRIMARY KEY (account_id, project_id, write_id),
  constraint repository_write_repository FOREIGN KEY (account_id, project_id) REFERENCES repository(account_id, project_id) ON DELETE CASCADE
);

create table role_grant (
  account_id uuid not null,
  credential_id uuid,
  project_id uuid not null,
  environment_name text,
  role text not null,
  user_id uuid,
  principal_id uuid not null generated always as (COALESCE(credential_id, user_id)) stored,
  added_by uuid,
  added_at timestamp with time zone,
  constraint role_grant_in_environment FOREIGN KEY (account_id, project_id, environment_name) REFERENCES environment(account_id, project_id, name) ON DELETE CASCADE,
  constraint role_grant_in_project FOREIGN KEY (account_id, project_id) REFERENCES project(account_id, project_id) ON DELETE CASCADE,
  constraint role_grant_of_credential FOREIGN KEY (account_id, credential_id) REFERENCES credential(account_id, credential_id) ON DELETE CASCADE,
  constraint role_grant_of_one_principal CHECK ((num_nonnulls(credential_id, user_id) = 1)),
  constraint role_grant_of_user FOREIGN KEY (account_id, user_id) REFERENCES directory_user(account_id, user_id) ON DELETE CASCADE,
  constraint role_grant_once UNIQUE NULLS NOT DISTINCT (account_id, principal_id, project_id, environment_name, role),
  constraint role_grant_operator_in_environment CHECK (((role <> 'OPERATOR'::text) OR (environment_name IS NOT NULL))),
  constraint role_grant_role_known CHECK ((role <> ALL (ARRAY['SUPER_ADMIN'::text, 'ADMIN'::text, 'BILLING_ADMIN'::text, 'MEMBER'::text, 'DIRECTORY'::text])))
);
CREATE INDEX role_grant_by_credential ON public.role_grant USING btree (account_id, credential_id) WHERE (credential_id IS NOT NULL);
CREATE INDEX role_grant_by_project ON public.role_grant USING btree (account_id, project_id, environment_name);
CREATE INDEX role_grant_by_role ON public.role_grant USING btree (account_id, role);
CREATE INDEX role_grant_by_user ON public.role_grant USING btree (account_id, user_id) WHERE (user_id IS NOT NULL);

create table schedule (
  account_id uuid not null,
  schedule_id uuid not null,
  project_id uuid not null,
  environment_name text not null,
  name text not null,
  pipeline_name text not null,
  version_name text,
  agent_id uuid,
  cron_expression text,
  interval_length integer,
  interval_unit text,
  cron_timezone text not null,
  effective_from timestamp with time zone,
  enabled boolean not null,
  allows_concurrent boolean not null,
  scalar_variables jsonb not null,
  grid_variables jsonb not null,
  written_by uuid not null,
  next_tick_at timestamp with time zone,
  last_tick_at timestamp with time zone,
  last_run_at timestamp with time zone,
  problem_code text,
  problem_detail text,
  problem_since timestamp with time zone,
  version bigint not null,
  created_at timestamp with time zone not null,
  timed_at timestamp with time zone,
  constraint schedule_key PRIMARY KEY (account_id, schedule_id),
  constraint schedule_in_environment FOREIGN KEY (account_id, project_id, environment_name) REFERENCES environment(account_id, project_id, name) ON DELETE CASCADE,
  constraint schedule_interval_whole CHECK (((interval_length IS NULL) = (interval_unit IS NULL))),
  constraint schedule_name_taken UNIQUE (account_id, project_id, name),
  constraint schedule_of_one_expression CHECK ((num_nonnulls(cron_expression, interval_length) = 1)),
  constraint schedule_of_project FOREIGN KEY (account_id, project_id) REFERENCES project(account_id, project_id) ON DELETE CASCADE,
  constraint schedule_problem_whole CHECK ((num_nonnulls(problem_code, problem_detail, problem_since) = ANY (ARRAY[0, 3])))
) with (autovacuum_vacuum_scale_factor=0.05, autovacuum_analyze_scale_factor=0.05);
CREATE INDEX schedule_by_timing ON public.schedule USING btree (timed_at) WHERE (next_tick_at IS NOT NULL);
CREATE INDEX schedule_due ON public.schedule USING btree (next_tick_at) WHERE (next_tick_at IS NOT NULL);

create table schema_migration (
  name text not null,
  checksum text not null,
  applied_at timestamp with time zone not null default now(),
  constraint schema_migration_key PRIMARY KEY (name)
);

create table secret_check (
  account_id uuid not null,
  check_id uuid not null,
  project_id uuid not null,
  planned jsonb not null,
  created_at timestamp with time zone not null,
  constraint secret_check_key PRIMARY KEY (account_id, check_id),
  constraint secret_check_of_project FOREIGN KEY (account_id, project_id) REFERENCES project(account_id, project_id) ON DELETE CASCADE
);
CREATE INDEX secret_check_by_age ON public.secret_check USING btree (created_at);
CREATE INDEX secret_check_by_project ON public.secret_check USING btree (account_id, project_id);

create table secret_reference (
  account_id uuid not null,
  project_id uuid not null,
  name text not null,
  type text not null,
  secret_name text not null,
  secret_key text,
  vault_name text,
  vault_type text,
  provider text,
  provider_of_vault text,
  agent_type text,
  agent_id uuid,
  description text,
  created_at timestamp with time zone not null,
  constraint secret_reference_taken PRIMARY KEY (account_id, project_id, name),
  constraint secret_reference_of_agent FOREIGN KEY (account_id, agent_id) REFERENCES agent(account_id, agent_id) ON DELETE SET NULL (agent_id),
  constraint secret_reference_of_project FOREIGN KEY (account_id, project_id) REFERENCES project(account_id, project_id) ON DELETE CASCADE
);
CREATE INDEX secret_reference_by_agent ON public.secret_reference USING btree (account_id, agent_id) WHERE (agent_id IS NOT NULL);

create table secret_write (
  account_id uuid not null,
  write_id uuid not null,
  agent_id uuid not null,
  key_id text not null,
  jti text not null,
  provider text,
  vault_name text,
  name text not null,
  secret_key text,
  type text not null,
  sealed_value text,
  sealed_sha256 text not null,
  status text not null,
  message text,
  receipt text,
  created_at timestamp with time zone not null,
  project_id uuid,
  constraint secret_write_once_written PRIMARY KEY (account_id, write_id),
  constraint secret_write_for_project FOREIGN KEY (account_id, project_id) REFERENCES project(account_id, project_id) ON DELETE SET NULL (project_id),
  constraint secret_write_jti_once UNIQUE (account_id, agent_id, jti),
  constraint secret_write_of_agent FOREIGN KEY (account_id, agent_id) REFERENCES agent(account_id, agent_id) ON DELETE CASCADE,
  constraint secret_write_status_known CHECK ((status = ANY (ARRAY['PENDING'::text, 'WRITTEN'::text, 'FAILED'::text, 'REFUSED'::text]))),
  constraint secret_write_wiped CHECK (((status = 'PENDING'::text) = (sealed_value IS NOT NULL)))
);
CREATE INDEX secret_write_by_age ON public.secret_write USING btree (created_at) WHERE (status <> 'PENDING'::text);
CREATE INDEX secret_write_by_project ON public.secret_write USING btree (account_id, project_id) WHERE (project_id IS NOT NULL);

create table server_work (
  account_id uuid not null,
  work_id uuid not null,
  kind text not null,
  due_at timestamp with time zone,
  lease_until timestamp with time zone,
  epoch bigint not null default 0,
  attempts integer not null default 0,
  interruptions integer not null default 0,
  touched_at timestamp with time zone,
  claimable_at timestamp with time zone generated always as (COALESCE(lease_until, due_at)) stored,
  constraint server_work_key PRIMARY KEY (account_id, work_id),
  constraint server_work_of_account FOREIGN KEY (account_id) REFERENCES account(account_id) ON DELETE CASCADE
) with (fillfactor=50);
CREATE INDEX server_work_due ON public.server_work USING btree (kind, account_id, claimable_at) WHERE (claimable_at IS NOT NULL);
CREATE INDEX server_work_interrupted ON public.server_work USING btree (kind, lease_until) WHERE (interruptions > 0);
CREATE INDEX server_work_touched ON public.server_work USING btree (touched_at);

create table shared_pipeline_version (
  account_id uuid not null,
  prefix text not null,
  version_name text not null,
  manifest_digest text not null,
  branch text,
  commit_hash text,
  provider text not null,
  enabled boolean not null,
  created_by uuid not null,
  created_at timestamp with time zone not null,
  ignored_pipelines jsonb not null default '[]'::jsonb,
  constraint shared_pipeline_version_exists PRIMARY KEY (account_id, prefix, version_name),
  constraint shared_pipeline_version_of_account FOREIGN KEY (account_id) REFERENCES account(account_id) ON DELETE CASCADE,
  constraint shared_pipeline_version_of_manifest FOREIGN KEY (account_id, manifest_digest) REFERENCES manifest(account_id, digest)
);
CREATE INDEX shared_pipeline_version_by_manifest ON public.shared_pipeline_version USING btree (account_id, manifest_digest);
CREATE INDEX shared_pipeline_version_latest ON public.shared_pipeline_version USING btree (account_id, prefix, enabled, created_at DESC, version_name DESC);
CREATE INDEX shared_pipeline_version_newest ON public.shared_pipeline_version USING btree (account_id, created_at DESC, prefix DESC, version_name DESC);

create table sign_in_link (
  account_id uuid not null,
  user_id uuid,
  secret_digest bytea not null,
  of_loopback boolean not null,
  created_at timestamp with time zone not null,
  expires_at timestamp with time zone not null,
  constraint sign_in_link_key PRIMARY KEY (secret_digest),
  constraint sign_in_link_of_account FOREIGN KEY (account_id) REFERENCES account(account_id) ON DELETE CASCADE,
  constraint sign_in_link_of_user FOREIGN KEY (account_id, user_id) REFERENCES directory_user(account_id, user_id) ON DELETE CASCADE,
  constraint sign_in_link_of_user_once UNIQUE NULLS NOT DISTINCT (account_id, user_id)
);

create table sign_in_session (
  account_id uuid not null,
  session_id uuid not null,
  user_id uuid not null,
  secret_digest bytea not null,
  method text not null,
  identity_issuer_id uuid,
  issuer_session text,
  address text not null,
  user_agent text not null,
  created_at timestamp with time zone not null,
  last_used_at timestamp with time zone not null,
  idle_until timestamp with time zone not null,
  expires_at timestamp with time zone not null,
  client_id text,
  constraint sign_in_session_key PRIMARY KEY (account_id, session_id),
  constraint sign_in_session_method_known CHECK ((method = ANY (ARRAY['LINK'::text, 'ISSUER'::text, 'PASSKEY'::text]))),
  constraint sign_in_session_of_issuer FOREIGN KEY (account_id, identity_issuer_id) REFERENCES identity_issuer(account_id, identity_issuer_id) ON DELETE CASCADE,
  constraint sign_in_session_of_user FOREIGN KEY (account_id, user_id) REFERENCES directory_user(account_id, user_id) ON DELETE CASCADE,
  constraint sign_in_session_secret_taken UNIQUE (secret_digest)
);
CREATE INDEX sign_in_session_by_issuer ON public.sign_in_session USING btree (account_id, identity_issuer_id) WHERE (identity_issuer_id IS NOT NULL);
CREATE INDEX sign_in_session_by_user ON public.sign_in_session USING btree (account_id, user_id, session_id DESC);

create table signing_key (
  key_id text not null,
  public_key jsonb not null,
  private_key_sealed bytea not null,
  created_at timestamp with time zone not null,
  signs_from timestamp with time zone not null,
  constraint signing_key_key PRIMARY KEY (key_id)
);

create table step_lineage (
  account_id uuid not null,
  execution_id uuid not null,
  step_id uuid not null,
  pipeline_run_id uuid not null,
  ordinal bigint not null generated always as identity,
  lineage jsonb not null,
  characters integer not null,
  constraint step_lineage_key PRIMARY KEY (account_id, execution_id, step_id),
  constraint step_lineage_of_execution FOREIGN KEY (account_id, execution_id) REFERENCES pipeline_execution(account_id, execution_id) ON DELETE CASCADE
);

create table streaming_pipeline (
  account_id uuid not null,
  project_id uuid not null,
  streaming_pipeline_id uuid not null,
  name text not null,
  agent_id uuid,
  source jsonb not null,
  target jsonb not null,
  advanced_properties jsonb,
  status text not null,
  version bigint not null,
  created_at timestamp with time zone not null,
  constraint streaming_pipeline_key PRIMARY KEY (account_id, project_id, streaming_pipeline_id),
  constraint streaming_pipeline_name_taken UNIQUE (account_id, project_id, name),
  constraint streaming_pipeline_of_project FOREIGN KEY (account_id, project_id) REFERENCES project(account_id, project_id) ON DELETE CASCADE,
  constraint streaming_pipeline_status_known CHECK ((status = ANY (ARRAY['stopped'::text, 'running'::text])))
);

create table test_execution (
  account_id uuid not null,
  test_execution_id uuid not null,
  project_id uuid not null,
  environment_name text not null,
  scope text not null,
  version_name text not null,
  manifest_digest text not null,
  agent_id uuid not null,
  status execution_status not null,
  execution_tag text,
  running_tag text,
  shared_artifacts jsonb,
  user_name text,
  message text,
  started_at timestamp with time zone not null,
  finished_at timestamp with time zone,
  constraint test_execution_key PRIMARY KEY (account_id, test_execution_id),
  constraint test_execution_in_project FOREIGN KEY (account_id, project_id) REFERENCES project(account_id, project_id) ON DELETE CASCADE
) with (fillfactor=70);
CREATE INDEX test_execution_by_project ON public.test_execution USING btree (account_id, project_id, test_execution_id);
CREATE UNIQUE INDEX test_execution_tag_running ON public.test_execution USING btree (account_id, project_id, environment_name, running_tag) WHERE (running_tag IS NOT NULL);

create table test_execution_result (
  account_id uuid not null,
  test_execution_id uuid not null,
  ordinal integer not null,
  test_name text not null,
  pipeline_name text not null,
  status text,
  message text,
  expected text,
  actual text,
  duration_ms bigint,
  constraint test_execution_result_key PRIMARY KEY (account_id, test_execution_id, ordinal),
  constraint test_execution_result_of_execution FOREIGN KEY (account_id, test_execution_id) REFERENCES test_execution(account_id, test_execution_id) ON DELETE CASCADE,
  constraint test_execution_result_status_known CHECK ((status = ANY (ARRAY['PASSED'::text, 'FAILED'::text, 'ERRORED'::text, 'CANCELLED'::text])))
) with (fillfactor=70);

create table user_credential (
  account_id uuid not null,
  user_credential_id uuid not null,
  user_id uuid not null,
  name text not null,
  client_id text not null,
  secret_digest bytea not null,
  created_at timestamp with time zone not null,
  expires_at timestamp with time zone,
  last_used_at timestamp with time zone,
  constraint user_credential_key PRIMARY KEY (account_id, user_credential_id),
  constraint user_credential_client_id_taken UNIQUE (client_id),
  constraint user_credential_of_user FOREIGN KEY (account_id, user_id) REFERENCES directory_user(account_id, user_id) ON DELETE CASCADE
);
CREATE INDEX user_credential_by_user ON public.user_credential USING btree (account_id, user_id, user_credential_id DESC);

create table user_identity (
  account_id uuid not null,
  identity_issuer_id uuid not null,
  subject text not null,
  user_id uuid not null,
  created_at timestamp with time zone not null,
  constraint user_identity_key PRIMARY KEY (account_id, identity_issuer_id, subject),
  constraint user_identity_of_issuer FOREIGN KEY (account_id, identity_issuer_id) REFERENCES identity_issuer(account_id, identity_issuer_id) ON DELETE CASCADE,
  constraint user_identity_of_user FOREIGN KEY (account_id, user_id) REFERENCES directory_user(account_id, user_id) ON DELETE CASCADE,
  constraint user_identity_of_user_once UNIQUE (account_id, user_id, identity_issuer_id)
);

create table variable (
  account_id uuid not null,
  project_id uuid not null,
  name text not null,
  variable_id uuid not null,
  type variable_type not null,
  behaviour variable_behaviour not null,
  description text,
  value jsonb,
  supports_double_resolution boolean not null,
  version bigint not null,
  created_at timestamp with time zone not null,
  constraint variable_name_taken PRIMARY KEY (account_id, project_id, name),
  constraint variable_of_project FOREIGN KEY (account_id, project_id) REFERENCES project(account_id, project_id) ON DELETE CASCADE
);

create table variable_override (
  account_id uuid not null,
  project_id uuid not null,
  variable_name text not null,
  environment_name text not null,
  value jsonb not null,
  constraint variable_override_key PRIMARY KEY (account_id, project_id, variable_name, environment_name),
  constraint variable_override_in_environment FOREIGN KEY (account_id, project_id, environment_name) REFERENCES environment(account_id, project_id, name) ON DELETE CASCADE,
  constraint variable_override_of_variable FOREIGN KEY (account_id, project_id, variable_name) REFERENCES variable(account_id, project_id, name) ON DELETE CASCADE
);
CREATE INDEX variable_override_by_environment ON public.variable_override USING btree (account_id, project_id, environment_name);

create table vault_grant (
  account_id uuid not null,
  project_id uuid not null,
  agent_id uuid,
  name text not null,
  is_prefix boolean not null,
  constraint vault_grant_in_project FOREIGN KEY (account_id, project_id) REFERENCES project(account_id, project_id) ON DELETE CASCADE,
  constraint vault_grant_of_agent FOREIGN KEY (account_id, agent_id) REFERENCES agent(account_id, agent_id) ON DELETE CASCADE
);
CREATE INDEX vault_grant_by_agent ON public.vault_grant USING btree (account_id, agent_id);
CREATE UNIQUE INDEX vault_grant_once ON public.vault_grant USING btree (account_id, project_id, md5(name), is_prefix, agent_id) NULLS NOT DISTINCT;
CREATE INDEX vault_grant_prefixes ON public.vault_grant USING btree (account_id, project_id) WHERE is_prefix;

create table webhook (
  account_id uuid not null,
  webhook_id uuid not null,
  name text not null,
  url text not null,
  event_names text[] not null,
  project_id uuid,
  environment_name text,
  state text not null,
  pause_reason text,
  sealed_secret bytea not null,
  sealed_previous_secret bytea,
  previous_secret_until timestamp with time zone,
  owner_id uuid not null,
  version bigint not null,
  created_at timestamp with time zone not null,
  position bigint not null,
  missed_events bigint not null default 0,
  retry_at timestamp with time zone,
  redelivery_at timestamp with time zone,
  touched_at timestamp with time zone,
  failing_since timestamp with time zone,
  last_delivery_at timestamp with time zone,
  last_status smallint,
  format text not null default 'json'::text,
  constraint webhook_key PRIMARY KEY (account_id, webhook_id),
  constraint webhook_format CHECK ((format = ANY (ARRAY['json'::text, 'slack'::text, 'teams'::text, 'openlineage'::text]))),
  constraint webhook_state CHECK ((state = ANY (ARRAY['active'::text, 'paused'::text])))
);
CREATE INDEX webhook_of_lineage ON public.webhook USING btree (account_id) WHERE (format = 'openlineage'::text);
CREATE INDEX webhook_touched ON public.webhook USING btree (touched_at) WHERE ((retry_at IS NOT NULL) OR (redelivery_at IS NOT NULL));
CREATE INDEX webhook_waiting ON public.webhook USING btree (account_id, "position") WHERE ((state = 'active'::text) AND (retry_at IS NULL));

create table webhook_delivery (
  account_id uuid not null,
  webhook_id uuid not null,
  position bigint not null,
  delivery_id uuid not null,
  event_name text not null,
  status text not null,
  attempts integer not null,
  last_status smallint,
  last_error text,
  first_attempt_at timestamp with time zone not null,
  last_attempt_at timestamp with time zone,
  next_attempt_at timestamp with time zone,
  ended_at timestamp with time zone,
  constraint webhook_delivery_key PRIMARY KEY (account_id, webhook_id, "position"),
  constraint webhook_delivery_status CHECK ((status = ANY (ARRAY['pending'::text, 'delivered'::text, 'dead'::text])))
);
CREATE INDEX webhook_delivery_by_id ON public.webhook_delivery USING btree (account_id, webhook_id, delivery_id);
CREATE INDEX webhook_delivery_ended ON public.webhook_delivery USING btree (status, ended_at) WHERE (ended_at IS NOT NULL);
CREATE INDEX webhook_delivery_of_status ON public.webhook_delivery USING btree (account_id, webhook_id, status, "position") WHERE (status <> 'delivered'::text);
CREATE INDEX webhook_delivery_waiting ON public.webhook_delivery USING btree (first_attempt_at) WHERE (status = 'pending'::text);

create table work (
  account_id uuid not null,
  work_id uuid not null,
  project_id uuid,
  agent_id uuid not null,
  kind text not null,
  name text not null,
  state work_state not null,
  epoch integer not null default 0,
  instance_id uuid,
  report_sequence integer not null default 0,
  lease_expires_at timestamp with time zone,
  silent_since timestamp with time zone,
  command work_command,
  command_bound timestamp with time zone,
  run_bound timestamp with time zone,
  created_at timestamp with time zone not null,
  queued_at timestamp with time zone not null,
  ended_at timestamp with time zone,
  environment_name text,
  key_id text,
  claimable_until timestamp with time zone,
  due_at timestamp with time zone,
  requested_by uuid,
  command_by text,
  ability text,
  constraint work_key PRIMARY KEY (account_id, work_id),
  constraint work_due_until_ended CHECK (((state = 'ended'::work_state) = (due_at IS NULL))),
  constraint work_for_agent FOREIGN KEY (account_id, agent_id) REFERENCES agent(account_id, agent_id) ON DELETE CASCADE,
  constraint work_in_project FOREIGN KEY (account_id, project_id) REFERENCES project(account_id, project_id) ON DELETE CASCADE
) with (fillfactor=70, autovacuum_vacuum_scale_factor=0.02, autovacuum_analyze_scale_factor=0.02, vacuum_truncate=false);
CREATE INDEX work_by_project ON public.work USING btree (account_id, project_id);
CREATE INDEX work_due ON public.work USING btree (due_at) WHERE (due_at IS NOT NULL);
CREATE INDEX work_ended ON public.work USING btree (ended_at) WHERE (state = 'ended'::work_state);
CREATE INDEX work_queued_run ON public.work USING btree (account_id, project_id, environment_name) WHERE ((state = 'queued'::work_state) AND (claimable_until IS NULL));
CREATE INDEX work_under_way ON public.work USING btree (account_id, agent_id) WHERE (state = ANY (ARRAY['held'::work_state, 'silent'::work_state]));
CREATE INDEX work_waiting ON public.work USING btree (account_id, agent_id, (
CASE
    WHEN (claimable_until IS NULL) THEN 'run'::text
    ELSE 'short'::text
END), (((((kind || ' '::text) || COALESCE(ability, ''::text)) || ' '::text) || COALESCE(key_id, ''::text))), COALESCE(project_id, 'ffffffff-ffff-ffff-ffff-ffffffffffff'::uuid), COALESCE(environment_name, '-'::text), created_at, work_id) WHERE (state = 'queued'::work_state);

create table work_turn (
  account_id uuid not null,
  agent_id uuid not null,
  is_short boolean not null,
  project_id uuid,
  visited text not null,
  remaining integer not null,
  holds_back boolean not null default false,
  constraint work_turn_once UNIQUE NULLS NOT DISTINCT (account_id, agent_id, is_short, project_id)
) with (fillfactor=50);
