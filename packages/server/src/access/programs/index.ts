import type { Slice } from '../../kernel/slice/slice.ts';
import { programRetention } from './program.retention.ts';
import { type ProgramPageServices, programRoutes } from './program.routes.ts';

export { OAuthRefusal, requireParameter } from './oauth-refusal.ts';
export { authorizePath, devicePath, readUserAgent } from './program.routes.ts';
export {
  deviceGrant,
  endSession,
  grantToProgram,
  type ProgramServices,
  readRefreshToken,
} from './program-grants.ts';

export const programs: Slice<ProgramPageServices> = {
  name: 'programs',
  routes: programRoutes,
  retention: programRetention,
};
