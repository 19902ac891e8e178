/** Functions about the session and the account. */
import { define, type FunctionTable, refuse } from './call.ts';

/** The user and the role that pipelines run as. */
const runner = define(0, 0, () => "'HEADGATE'");
const lastQuery = refuse(
  'results of earlier statements are not kept: put the query in a table, and read the table',
);

export const session: FunctionTable = {
  CURRENT_USER: runner,
  CURRENT_ROLE: runner,
  CURRENT_WAREHOUSE: runner,
  CURRENT_ACCOUNT: runner,
  CURRENT_ACCOUNT_NAME: runner,
  CURRENT_ORGANIZATION_NAME: runner,
  CURRENT_SECONDARY_ROLES: define(0, 0, () => "''"),
  CURRENT_CLIENT: define(0, 0, () => "'Headgate'"),
  CURRENT_VERSION: define(0, 0, () => 'version()'),
  CURRENT_REGION: define(0, 0, () => "'LOCAL'"),
  CURRENT_SESSION: define(0, 0, () => 'CAST(current_connection_id() AS VARCHAR)'),
  PG_BACKEND_PID: define(0, 0, () => 'current_connection_id()'),
  CURRENT_TRANSACTION: define(0, 0, () => 'CAST(current_transaction_id() AS VARCHAR)'),
  CURRENT_STATEMENT: define(0, 0, () => 'current_query()'),
  IS_ROLE_IN_SESSION: define(1, 1, ({ args }) => `(upper(${args[0]}) = 'HEADGATE')`),
  LAST_QUERY_ID: lastQuery,
  PG_LAST_QUERY_ID: lastQuery,
  RESULT_SCAN: lastQuery,
};
