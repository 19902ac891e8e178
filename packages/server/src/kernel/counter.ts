/**
 * Totals that are kept, not counted (docs/adr/0008): a project's rows of a kind, spread over slots so that writers do not queue for one row.
 */
type CountedKind = 'variable';

/** The total of a kind; a part of guardedPage. */
export function countedTotal(kind: CountedKind): string {
  return `select coalesce(sum(count), 0)::bigint as total from project_counter
    where account_id = $1 and project_id = $3 and kind = '${kind}'`;
}

/** The change of a total, to stand in a `with` of the statement that makes it; $1 is the account, $2 the project. A connection keeps to one slot. */
export function countChange(kind: CountedKind, change: 1 | -1): string {
  return `
    insert into project_counter as c (account_id, project_id, kind, slot, count)
    values ($1, $2, '${kind}', (pg_backend_pid() % 16)::smallint, ${change})
    on conflict (account_id, project_id, kind, slot) do update set count = c.count + excluded.count`;
}
