// Tables for pandas, R and spreadsheets.
#include <string>

#include "exporters/csv_file.hpp"
#include "exporters/exporters.hpp"
#include "exporters/tables.hpp"

namespace vicinal::exporters {

void write_csv(const Recording& recording, const std::string& folder) {
  CsvFiles files(folder);
  write_tables(recording, files);
}

}  // namespace vicinal::exporters
