/** What a session has that is lost with it. */
import { readFirstWord } from './sql-words.ts';

const settings = /^(?:set|reset|use|pragma|prepare)$/;
const temporary =
  /\bcreate\s+(?:or\s+replace\s+)?(?:temp|temporary)\b|\btable\s+(?:if\s+not\s+exists\s+)?"?temp"?\s*\.|\bsetseed\b/i;

/** Whether a later statement may give another result in another session. */
export const leavesState = (sql: string) => settings.test(readFirstWord(sql)) || temporary.test(sql);
