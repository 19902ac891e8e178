/** The thread that plans SQL. */
import { serveThread } from '../../kernel/threads/serve-thread.ts';
import { planOnce } from './planning.ts';

serveThread(planOnce);
