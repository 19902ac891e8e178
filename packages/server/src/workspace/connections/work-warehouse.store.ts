/** The warehouse of a piece of work: that of its project, with the connection of its environment. */
import { projectWarehouse } from '../projects/index.ts';

/**
 * SQL: a ProjectWarehouse of the agent protocol.
 *
 * @param place alias of a row with account_id, project_id and environment_name
 */
export const selectWarehouse = (place: string) => `(
  select jsonb_strip_nulls(${projectWarehouse('p')}::jsonb || jsonb_build_object('connection', (
    select jsonb_build_object('name', c.name,
      'properties', coalesce(c.details -> 'connectionProperties', '{}') || coalesce(o.properties, '{}'))
    from environment_default_connection d
    join connection c on c.account_id = d.account_id and c.project_id = d.project_id and c.name = d.connection_name
    left join environment_connection_override o on o.account_id = d.account_id and o.project_id = d.project_id
      and o.environment_name = d.environment_name and o.connection_name = d.connection_name
    where d.account_id = p.account_id and d.project_id = p.project_id and d.environment_name = ${place}.environment_name
      and d.platform_connection_type = 'DWH' and d.auth_provider = p.warehouse and p.warehouse <> 'DUCKDB')))
  from project p where p.account_id = ${place}.account_id and p.project_id = ${place}.project_id)`;
