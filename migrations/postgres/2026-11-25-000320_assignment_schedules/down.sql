DROP TABLE assignment_schedules;
