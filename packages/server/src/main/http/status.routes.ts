import type { FastifyInstance } from 'fastify';
import { statement } from '../../kernel/database/database.ts';
import { problem } from '../../kernel/http/problems.ts';
import type { Dependencies } from '../deps.ts';

const newestMigration = statement(
  { row: { name: 'text' } },
  'select max(name) as name from schema_migration',
);

/**
 * `/livez`: the process responds. `/readyz`: it can serve requests, and whether it sees the hosted repositories.
 * `/metrics`: metrics as Prometheus text. They need no token, so keep them inside your network.
 */
export function statusRoutes(app: FastifyInstance, deps: Dependencies): void {
  app.get('/livez', () => ({ status: 'live' }));

  app.get('/readyz', async () => {
    if (deps.stopping.aborted) throw problem('shutting-down');
    const [newest] = await deps.database.read(newestMigration, {});
    const fault = await deps.hosted.folder.findFault();
    const repositories = fault === undefined ? { status: 'ready' } : { status: 'unavailable', reason: fault };
    return { status: 'ready', version: deps.version, migration: newest?.name ?? null, repositories };
  });

  app.get('/metrics', async (_request, reply) => {
    const text = await deps.metrics.renderText();
    return reply.header('content-type', deps.metrics.contentType).send(text);
  });
}
