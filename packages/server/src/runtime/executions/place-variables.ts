/** The variables that work of a place gets with its claim. */

/**
 * A CTE of a claim: the variables of each place with claimed work of one kind. An override of the environment
 * replaces the project's value.
 */
export const selectVariablesOfPlaces = (name: string, kind: string) => `
  ${name} as (
    select place.project_id, place.environment_name, coalesce((
      select json_agg(json_strip_nulls(json_build_object('name', v.name, 'type', v.type, 'behaviour', v.behaviour, 'value', coalesce(o.value, v.value), 'isOverride', case when o.value is not null then true end, 'supportsDoubleResolution', case when v.supports_double_resolution then true end))
        order by v.name)
      from variable v
      left join variable_override o on o.account_id = v.account_id and o.project_id = v.project_id and o.variable_name = v.name
        and o.environment_name = place.environment_name
      where v.account_id = $account_id and v.project_id = place.project_id
    ), '[]') as variables
    from (select distinct project_id, environment_name from claimed where kind = '${kind}') place
  )`;
