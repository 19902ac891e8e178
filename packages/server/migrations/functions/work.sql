-- Chooses the work that an instance claims, in the order of the turns. It changes nothing: the claim locks the works,
-- and writes `turns` (rows of work_turn). `holds_back`: there is work whose environment has its share. `share`: that of
-- an environment in percent, and `sole`: the only place that the agent serves, if there is one. It has no bound.
-- Each step is a lookup in work_waiting for each need that the instance meets. Neither the number of waiting works
-- matters, nor work that the instance cannot do.
create or replace function choose_work(
  for_account uuid, for_agent uuid, for_instance uuid, for_generation integer, in_lane text, most integer
) returns table (work_ids uuid[], turns jsonb, holds_back boolean, share integer, sole text)
language plpgsql stable rows 1 as $$
declare
  -- Stands for no project, which comes last. Queries have the literal: with a variable they do not use the index. No
  -- project has the id `start`, and no environment the name ''.
  nowhere constant uuid := 'ffffffff-ffff-ffff-ffff-ffffffffffff';
  start constant uuid := '00000000-0000-0000-0000-000000000000';
  claimant record;
  stored record;
  bound integer;
  -- How many works of one project the agent may hold. Null: all.
  project_bound integer;
  -- The needs of waiting work that the instance meets.
  needs text[] := '{}';
  need record;
  -- By place and by project: how many works the agent holds, with those chosen.
  held jsonb;
  -- By project, or by place.
  weights jsonb := '{}';
  project uuid;
  project_left integer;
  environment text;
  environment_left integer;
  place text;
  -- By project: the environment that was visited last, and what is left of the visit.
  visits jsonb := '{}';
  -- Places and projects without more to claim.
  done text[] := '{}';
  has_wrapped boolean;
  next_project uuid;
  next_environment text;
  found_id uuid;
  -- How many works wait, at most `most`.
  waiting integer;
begin
  work_ids := '{}';
  turns := '[]';
  holds_back := false;
  select a.restricted_access, i.abilities, i.instance_id is null as is_unknown, a.environment_share, a.weights,
    a.secret_generation = for_generation and not a.paused and i.restart_requested is not true as may_claim
  into claimant
  from agent a
  left join agent_instance i on i.account_id = a.account_id and i.agent_id = a.agent_id and i.instance_id = for_instance
  where a.account_id = for_account and a.agent_id = for_agent;
  if most < 1 or claimant.may_claim is not true then
    return next;
    return;
  end if;

  select * into need from (values (null::text, null::text, null::text, '')) as nothing (kind, ability, key_id, name);
  loop
    select w.kind, w.ability, w.key_id, (w.kind || ' ' || coalesce(w.ability, '') || ' ' || coalesce(w.key_id, '')) collate "C" as name into need from work w
    where w.account_id = for_account and w.agent_id = for_agent and w.state = 'queued' and w.command is null
      and (case when w.claimable_until is null then 'run' else 'short' end) = in_lane
      and (w.kind || ' ' || coalesce(w.ability, '') || ' ' || coalesce(w.key_id, '')) collate "C" > need.name
    order by (w.kind || ' ' || coalesce(w.ability, '') || ' ' || coalesce(w.key_id, '')) collate "C" limit 1;
    exit when not found;
    if (claimant.abilities is null or need.kind = any (claimant.abilities))
      and (need.ability is null or coalesce(need.ability = any (claimant.abilities), false))
      and (need.key_id is null or exists (
        select from agent_certificate c
        where c.account_id = for_account and c.agent_id = for_agent and c.key_id = need.key_id
          and c.instance_id = for_instance and c.secret_generation = for_generation))
    then
      needs := needs || need.name;
    end if;
  end loop;
  if needs = '{}' then
    return next;
    return;
  end if;

  share := claimant.environment_share;
  -- An instance that never said how many places it has counts as one with the default number.
  select greatest(1, ceil(p.places * share / 100.0)),
    case when share < 100 then greatest(1, least(ceil(p.places * greatest(share, 75) / 100.0), p.places - 1)) end
  into bound, project_bound from (
    select case when claimant.is_unknown then 20 else 0 end
      + coalesce(sum(coalesce(case when in_lane = 'short' then i.short_concurrency end, i.concurrency, 20)), 0) as places
    from agent_instance i
    where i.account_id = for_account and i.agent_id = for_agent and not i.silent and not i.stopping
  ) p;

  select case when count(*) = 1 then min(served.place) end into sole from (
    (select p.project_id || '/' || e.name as place
      from agent_allowed_place p
      join environment e on e.account_id = p.account_id and e.project_id = p.project_id
        and (p.environment_name is null or p.environment_name = e.name)
      where claimant.restricted_access and p.account_id = for_account and p.agent_id = for_agent limit 2)
    union all
    (select e.project_id || '/' || e.name from environment e
      where not claimant.restricted_access and e.account_id = for_account and e.default_agent_id = for_agent limit 2)
    union all
    (select e.project_id || '/' || e.name from environment e
      where not claimant.restricted_access and e.account_id = for_account and e.default_agent_id is null limit 2)
  ) served;

  select coalesce(jsonb_object_agg(h.place, h.works), '{}') into held from (
    select concat_ws('/', w.project_id, w.environment_name) as place, count(*) as works from work w
    where w.account_id = for_account and w.agent_id = for_agent and w.state in ('held', 'silent') and w.project_id is not null
      and (case when w.claimable_until is null then 'run' else 'short' end) = in_lane
    group by grouping sets ((w.project_id, w.environment_name), (w.project_id))
  ) h;

  if claimant.weights <> '[]' then
    select jsonb_object_agg(concat_ws('/', each ->> 'projectId', each ->> 'environmentName'), each -> 'weight') into weights
    from jsonb_array_elements(claimant.weights) as each;
  end if;

  select t.visited::uuid as visited, t.remaining, t.holds_back into stored from work_turn t
  where t.account_id = for_account and t.agent_id = for_agent and t.is_short = (in_lane = 'short') and t.project_id is null;
  project := coalesce(stored.visited, start);
  project_left := coalesce(stored.remaining, 0);

  select count(*) into waiting from (
    select from unnest(needs) as met (name) cross join lateral (
      select from work w
      where w.account_id = for_account and w.agent_id = for_agent and w.state = 'queued' and w.command is null
        and (case when w.claimable_until is null then 'run' else 'short' end) = in_lane
        and (w.kind || ' ' || coalesce(w.ability, '') || ' ' || coalesce(w.key_id, '')) collate "C" = met.name
      limit most) of_need
    limit most) counted;

  <<picks>>
  while cardinality(work_ids) < waiting loop
    if project_left <= 0 then
      has_wrapped := false;
      loop
        select next.project_id into next_project from unnest(needs) as met (name) cross join lateral (
          select coalesce(w.project_id, 'ffffffff-ffff-ffff-ffff-ffffffffffff') as project_id from work w
          where w.account_id = for_account and w.agent_id = for_agent and w.state = 'queued' and w.command is null
            and (case when w.claimable_until is null then 'run' else 'short' end) = in_lane
            and (w.kind || ' ' || coalesce(w.ability, '') || ' ' || coalesce(w.key_id, '')) collate "C" = met.name
            and coalesce(w.project_id, 'ffffffff-ffff-ffff-ffff-ffffffffffff') > project
          order by coalesce(w.project_id, 'ffffffff-ffff-ffff-ffff-ffffffffffff') limit 1
        ) next order by next.project_id limit 1;
        if next_project is not null then
          project := next_project;
          exit when project::text <> all (done);
        else
          exit picks when has_wrapped;
          has_wrapped := true;
          project := start;
        end if;
      end loop;
      project_left := coalesce((weights ->> project::text)::integer, 1);
    end if;

    -- The project has its share, but the only one that the agent serves has no bound.
    if project <> nowhere and coalesce((held ->> project::text)::integer, 0) >= project_bound then
      if not exists (
        select from agent_allowed_place p
        where claimant.restricted_access and p.account_id = for_account and p.agent_id = for_agent and p.project_id <> project
      ) and not exists (
        select from environment e
        where not claimant.restricted_access and e.account_id = for_account and e.default_agent_id = for_agent and e.project_id <> project
      ) and not exists (
        select from environment e
        where not claimant.restricted_access and e.account_id = for_account and e.default_agent_id is null and e.project_id <> project
      ) then
        project_bound := null;
      else
        holds_back := true;
        done := done || project::text;
        project_left := 0;
        continue;
      end if;
    end if;

    if not visits ? project::text then
      select t.visited, t.remaining into environment, environment_left from work_turn t
      where t.account_id = for_account and t.agent_id = for_agent and t.is_short = (in_lane = 'short') and t.project_id = project;
      visits := jsonb_set(visits, array[project::text],
        jsonb_build_object('visited', coalesce(environment, ''), 'remaining', coalesce(environment_left, 0)));
    end if;
    environment := visits -> project::text ->> 'visited';
    environment_left := (visits -> project::text ->> 'remaining')::integer;
    found_id := null;
    has_wrapped := false;
    loop
      if environment_left <= 0 then
        select next.environment_name into next_environment from unnest(needs) as met (name) cross join lateral (
          select coalesce(w.environment_name, '-') as environment_name from work w
          where w.account_id = for_account and w.agent_id = for_agent and w.state = 'queued' and w.command is null
            and (case when w.claimable_until is null then 'run' else 'short' end) = in_lane
            and (w.kind || ' ' || coalesce(w.ability, '') || ' ' || coalesce(w.key_id, '')) collate "C" = met.name
            and coalesce(w.project_id, 'ffffffff-ffff-ffff-ffff-ffffffffffff') = project and coalesce(w.environment_name, '-') > environment
          order by coalesce(w.environment_name, '-') limit 1
        ) next order by next.environment_name limit 1;
        if next_environment is null then
          exit when has_wrapped;
          has_wrapped := true;
          environment := '';
          continue;
        end if;
        environment := next_environment;
        environment_left := coalesce((weights ->> (project || '/' || environment))::integer, 1);
      end if;
      place := project || '/' || environment;
      if place <> all (done) then
        if project <> nowhere and place is distinct from sole and coalesce((held ->> place)::integer, 0) >= bound then
          holds_back := true;
        -- An older instance would open the data of a deleted environment of this name (docs/adr/0084).
        elsif project = nowhere or (
          (coalesce('environment-generations' = any (claimant.abilities), false) or not exists (
            select from environment e
            where e.account_id = for_account and e.project_id = project and e.name = environment and e.generation > 1))
          and (not claimant.restricted_access or exists (
            select from agent_allowed_place p
            where p.account_id = for_account and p.agent_id = for_agent and p.project_id = project
              and (p.environment_name is null or p.environment_name = environment))))
        then
          select oldest.work_id into found_id from unnest(needs) as met (name) cross join lateral (
            select w.work_id, w.created_at from work w
            where w.account_id = for_account and w.agent_id = for_agent and w.state = 'queued' and w.command is null
              and (case when w.claimable_until is null then 'run' else 'short' end) = in_lane
              and (w.kind || ' ' || coalesce(w.ability, '') || ' ' || coalesce(w.key_id, '')) collate "C" = met.name
              and coalesce(w.project_id, 'ffffffff-ffff-ffff-ffff-ffffffffffff') = project and coalesce(w.environment_name, '-') = environment
              and w.work_id <> all (work_ids)
            order by w.created_at, w.work_id limit 1
          ) oldest order by oldest.created_at, oldest.work_id limit 1;
          exit when found_id is not null;
        end if;
        done := done || place;
      end if;
      environment_left := 0;
    end loop;
    if found_id is null then
      done := done || project::text;
      project_left := 0;
      continue;
    end if;
    work_ids := work_ids || found_id;
    held := held || jsonb_build_object(place, coalesce((held ->> place)::integer, 0) + 1,
      project::text, coalesce((held ->> project::text)::integer, 0) + 1);
    project_left := project_left - 1;
    visits := jsonb_set(visits, array[project::text],
      jsonb_build_object('visited', environment, 'remaining', environment_left - 1, 'isChanged', true));
  end loop;

  -- There are no turns if nothing is left, or only work of one place.
  if holds_back is distinct from coalesce(stored.holds_back, false) or cardinality(work_ids) = most and (
    (select count(*) from jsonb_object_keys(visits)) > 1 or cardinality(done) > 0 or exists (
      select from unnest(needs) as met (name) cross join lateral (
        select from work w
        where w.account_id = for_account and w.agent_id = for_agent and w.state = 'queued' and w.command is null
          and (case when w.claimable_until is null then 'run' else 'short' end) = in_lane
          and (w.kind || ' ' || coalesce(w.ability, '') || ' ' || coalesce(w.key_id, '')) collate "C" = met.name
          and (coalesce(w.project_id, 'ffffffff-ffff-ffff-ffff-ffffffffffff'), coalesce(w.environment_name, '-')) > (project, environment)
        limit 1) other
    ) or exists (
      select from unnest(needs) as met (name) cross join lateral (
        select from work w
        where w.account_id = for_account and w.agent_id = for_agent and w.state = 'queued' and w.command is null
          and (case when w.claimable_until is null then 'run' else 'short' end) = in_lane
          and (w.kind || ' ' || coalesce(w.ability, '') || ' ' || coalesce(w.key_id, '')) collate "C" = met.name
          and (coalesce(w.project_id, 'ffffffff-ffff-ffff-ffff-ffffffffffff'), coalesce(w.environment_name, '-')) < (project, environment)
        limit 1) other))
  then
    turns := jsonb_build_array(jsonb_build_object(
      'project_id', null, 'visited', project, 'remaining', greatest(project_left, 0), 'holds_back', holds_back)) || (
      select coalesce(jsonb_agg(jsonb_build_object('project_id', v.key, 'visited', v.value -> 'visited',
        'remaining', v.value -> 'remaining', 'holds_back', false) order by v.key), '[]')
      from jsonb_each(visits) v where v.value ? 'isChanged' and v.key <> nowhere::text);
  end if;
  return next;
end $$;

-- Analyzes the tables that have more than doubled since they were last analyzed, and answers how many. Plans are kept
-- per connection until a table they read is analyzed: without this, one that was made for a small table is used until
-- autovacuum comes by.
create or replace function analyze_grown_tables() returns integer
language plpgsql volatile as $$
declare
  grown regclass;
  analyzed integer := 0;
begin
  if not pg_try_advisory_xact_lock(hashtextextended('headgate statistics', 0)) then return 0; end if;
  for grown in
    select c.oid from pg_class c
    where c.relkind = 'r' and c.relnamespace = (select relnamespace from pg_class where oid = 'work'::regclass)
      and pg_relation_size(c.oid) > 2 * greatest(c.relpages, 4)::bigint * current_setting('block_size')::bigint
  loop
    execute format('analyze (skip_locked) %s', grown);
    analyzed := analyzed + 1;
  end loop;
  return analyzed;
end $$;
