-- When the one request of a delivery was sent that people see the result of: as long as that may be under way nobody sends
-- it again, although it is not to be seen. Null of publications of before, which are long over.
ALTER TABLE publications ADD COLUMN sent_at timestamptz;
