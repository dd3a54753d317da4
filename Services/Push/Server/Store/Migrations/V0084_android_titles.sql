-- The title that Android devices show instead of `title`; no other platform shows it (seed diuit: "push title (Android only)").
ALTER TABLE notifications ADD COLUMN android_title text;
