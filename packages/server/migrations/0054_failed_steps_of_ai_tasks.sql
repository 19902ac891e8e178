-- Steps of an AI task that failed in an unexpected way, one after the other. Zero after a step that succeeded.
alter table ai_task add column failures integer not null default 0;
