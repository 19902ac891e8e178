import type { Slice } from '../../kernel/slice/slice.ts';
import { connectorOauthRoutes } from './connector-oauth.routes.ts';

export {
  type ConnectorOauthRow,
  listConnectorOauthsNaming,
  lockConnectorOauth,
} from './connector-oauth.store.ts';
export { listMissing } from './connector-oauth.ts';

export const connectorOauths: Slice = { name: 'connector-oauths', routes: connectorOauthRoutes };
