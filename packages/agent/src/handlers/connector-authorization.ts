/** Exchanges the code of an OAuth authorization for tokens, which go to the vault. */
import type { Connectors } from '../connectors/connectors.ts';
import type { Handler } from './handler.ts';

export function createConnectorAuthorizationHandler({
  connectors,
}: {
  connectors: Pick<Connectors, 'tokens'>;
}): Handler<'connector-authorization'> {
  return async (work, context) => {
    // A code can be used once: no other instance may try again after this one.
    await context.reportStarted();
    await connectors.tokens.authorize(work, work.payload.name, context.kill);
    return { status: 'SUCCESS' };
  };
}
