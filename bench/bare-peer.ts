/**
 * The minimum cost of reading or writing one row: Fastify and `pg` on the same database, without accounts,
 * permissions, validation, events or totals. A separate process with its settings as JSON in the variable
 * BARE_PEER.
 */
import { randomUUID } from 'node:crypto';
import Fastify from 'fastify';
import pg from 'pg';

export interface BarePeerSettings {
  connection: pg.ClientConfig;
  connections: number;
  accountId: string;
  projectId: string;
}

const columns = 'variable_id, name, type, behaviour, description, value, supports_double_resolution, version';
const selectPage = {
  name: 'select-page',
  text: `select ${columns} from variable where account_id = $1 and project_id = $2
    order by name limit $3 offset $4`,
};
const insertRow = {
  name: 'insert-row',
  text: `insert into bare_variable (account_id, project_id, name, variable_id, type, behaviour, description, value,
    supports_double_resolution, version, created_at) values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11)`,
};

interface NewVariable {
  name: string;
  type: string;
  behaviour: string;
  description?: string;
  value: unknown;
}

const settings = JSON.parse(process.env.BARE_PEER ?? '{}') as BarePeerSettings;
const { accountId, projectId } = settings;
const pool = new pg.Pool({ ...settings.connection, max: settings.connections });
await pool.query('create table if not exists bare_variable (like variable including indexes)');

const app = Fastify({ logger: false });
app.get('/page', async () => {
  const { rows } = await pool.query({ ...selectPage, values: [accountId, projectId, 25, 0] });
  return rows;
});
app.post<{ Body: NewVariable }>('/row', async (request, reply) => {
  const { name, type, behaviour, description = null, value } = request.body;
  const id = randomUUID();
  const row = [
    accountId,
    projectId,
    name,
    id,
    type,
    behaviour,
    description,
    JSON.stringify(value),
    false,
    1,
    new Date(),
  ];
  await pool.query({ ...insertRow, values: row });
  reply.code(201);
  return { id, name, type, behaviour, value };
});
await app.listen({ host: '127.0.0.1', port: 0 });
const address = app.server.address();
process.on('disconnect', () => process.exit(0));
process.send?.(typeof address === 'object' ? address?.port : undefined);
