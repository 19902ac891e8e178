/** What the tests over all operations need from this slice. */
import type { SliceGuards } from '../../../testing/slice-guards.ts';
import {
  connectorAuthorizationExamples,
  connectorAuthorizationMessageExamples,
} from './connector-authorization.examples.ts';

export const connectorAuthorizationGuards: SliceGuards = {
  examples: connectorAuthorizationExamples,
  protocolExamples: connectorAuthorizationMessageExamples,
};
