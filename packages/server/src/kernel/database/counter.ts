/**
 * Totals that are stored, not counted (docs/adr/0008). The total of a project is spread over several rows
 * (slots), so that concurrent writers do not wait for one row. `kind` must be a constant: it is inserted into
 * the SQL unescaped.
 */

/** SQL for the total of a kind, for guardedPage. */
export function countedTotal(kind: string): string {
  return `select coalesce(sum(count), 0)::bigint as total from project_counter
    where account_id = $account_id and project_id = $project_id and kind = '${kind}'`;
}

/**
 * SQL that subtracts one from a total, for the `with` clause of a statement with the parameters `$account_id`
 * and `$project_id`.
 */
export function countRemoved(kind: string): string {
  return countChange(kind, '$account_id, $project_id', '-1', '');
}

/** SQL that adds the rows of an insertStatement to the totals of their projects. */
export function countInserted(kind: string): string {
  return countChange(
    kind,
    'account_id, project_id',
    'count(*)',
    'from given group by account_id, project_id',
  );
}

/** Each connection uses one slot. */
function countChange(kind: string, project: string, change: string, from: string): string {
  return `
    insert into project_counter as c (account_id, project_id, kind, slot, count)
    select ${project}, '${kind}', (pg_backend_pid() % 16)::smallint, ${change} ${from}
    on conflict (account_id, project_id, kind, slot) do update set count = c.count + excluded.count`;
}
