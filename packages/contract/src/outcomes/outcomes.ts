/** The problems and events of every resource. They are apart from the operations, whose types name them. */

import { outcomeLists } from '../outcomes.list.ts';
import { withoutDoubles } from './sum-of-outcomes.ts';

export const outcomes = withoutDoubles(outcomeLists);
