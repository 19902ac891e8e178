/**
 * Totals that are kept, not counted (docs/adr/0008): a project's rows of a kind, spread over slots so that writers do not queue for one row.
 * A slice chooses the name of its kind, a constant: it is written into the SQL as it is.
 */

/** The total of a kind; a part of guardedPage. */
export function countedTotal(kind: string): string {
  return `select coalesce(sum(count), 0)::bigint as total from project_counter
    where account_id = $account_id and project_id = $project_id and kind = '${kind}'`;
}

/** The removal of one from a total, to stand in a `with` of the statement that makes it, whose parameters are `$account_id` and `$project_id`. */
export function countRemoved(kind: string): string {
  return countChange(kind, '$account_id, $project_id', '-1', '');
}

/** What the rows of an insertStatement add to the totals of their projects. */
export function countInserted(kind: string): string {
  return countChange(
    kind,
    'account_id, project_id',
    'count(*)',
    'from given group by account_id, project_id',
  );
}

/** A connection keeps to one slot. */
function countChange(kind: string, project: string, change: string, from: string): string {
  return `
    insert into project_counter as c (account_id, project_id, kind, slot, count)
    select ${project}, '${kind}', (pg_backend_pid() % 16)::smallint, ${change} ${from}
    on conflict (account_id, project_id, kind, slot) do update set count = c.count + excluded.count`;
}
