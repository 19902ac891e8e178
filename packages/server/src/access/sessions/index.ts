import type { Slice } from '../../kernel/slice/slice.ts';
import { sessionRetention } from './session.retention.ts';
import { sessionRoutes } from './session.routes.ts';

export {
  beginSession,
  clearCookie,
  type SessionServices,
  setSessionCookie,
  setShortCookie,
} from './begin-session.ts';
export {
  buildEndEvent,
  type EndReason,
  endSessionBySecret,
  endSessionsOfIssuer,
} from './session.store.ts';

export const sessions: Slice = { name: 'sessions', routes: sessionRoutes, retention: sessionRetention };
